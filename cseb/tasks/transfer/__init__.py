"""Transfer tasks: a linear classifier is trained on frozen embeddings, and its accuracy is the score.

Source: Conneau & Kiela 2018 (SentEval), with the settings of Gao et al. 2021. Read `linear` (one classifier), then
`schemes` (the rows for training, selection and scoring), then `labelled` (the tasks).
"""
