"""All-but-the-top: the part `remove_components` with other options."""

from cseb.methods.spec import preset

# Mu & Viswanath, ICLR 2018, section 2.2: the mean, and one direction for every hundred coordinates or so.
ALL_BUT_THE_TOP = preset("remove_components", count="hundredth", centre=True)
