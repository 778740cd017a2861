"""miCSE: a momentum queue and the mutual information of attention maps on top of SimCSE."""

from cseb.methods.spec import Method, part, preset, recipe

QUEUE = preset("queue", size=384, momentum=0.995, dropout=0.3)  # also called moco

MICSE = Method(
    name="micse",
    source="Klein & Nabi, ACL 2023, arXiv:2211.04928: eq. 2 to 5, section 3.1; AMI as in the authors' code",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    memory=QUEUE,
    terms=(preset("infonce", temperature=0.05), preset("ami", weight=2.5e-3, samples=150, scale_by_valid=False)),
    recipe=recipe(steps=20_000, batch_size=50, learning_rate=3e-5, warmup=250, max_length=32, eval_every=500),
    # The paper adapts the weight to the fraction and prints only the last one; the others are the authors' commands.
    per_fraction=(
        (0.001, (part("ami", weight=1e-3, scale_by_valid=True),)),
        (0.01, (part("ami", weight=1e-4, scale_by_valid=True),)),
        (0.1, (part("ami", weight=5e-4, scale_by_valid=True),)),
    ),
    deviations=(
        "infonce: eq. 2 sums, leaves the positive out of the denominator and takes in-batch negatives from view 1; we "
        "average, keep it and take view 2, as the authors' code does (`form=literal` is eq. 2)",
        "ami: algorithm 1, eq. 9 and 11 print -1/2 (1 - rho^2); eq. 4 and the code have the logarithm, and so have we",
        "ami: the text pools pairs of adjacent heads in layers 8 to 12, the code pairs layers {7, 9} and {8, 10} of "
        "one head; the code's form is the default, `slicing=head_pairs` the other",
        "ami: the text keeps real queries and keys (`valid=square`); the code keeps whatever is positive in both views",
        "ami: rho^2 is held at 1 - 1e-6 at most, 6.9 nats, where equal maps would be worth infinitely much; the code "
        "has no such limit, and takes 100 in place of a value that is no number",
        "ami: a slice without spread is left out of the mean; in the code it counts as 0",
        "ami: the code multiplies by the squared fraction of valid positions; on where the authors' weights are used",
        "ami: `layers=upper` is layers 7 to 10 of 12 (counted from 0), and the same fraction of other depths",
        "queue: an anchor's positive is the other online view, as in ESimCSE, and the copy's keys are negatives alone; "
        "the text can be read as taking the copy's view of the sentence for the positive",
        "queue: no code was released; a key of the same sentence is masked when the subset is below four queues",
        "queue: the text gives one dropout rate, 0.3, for the momentum copy; used for hidden and attention dropout",
        "recipe: learning rate, batch and steps are the paper's; the authors' commands use 1e-5, 64, other lengths",
        "recipe: the text states no maximum length and no evaluation interval; 32 and 500 are those of the authors' "
        "commands (250 for 0.01 %). The best checkpoint is so chosen from 40 evaluations, SimCSE's from 125; "
        "`+recipe(eval_every=125)` evaluates as often as SimCSE does",
    ),
)
