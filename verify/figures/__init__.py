"""The papers' figures and tables, regenerated, and the sentences that the papers read off them.

`panel` says what a panel is, `panels/` has them by paper, `readings` turns a sentence into a test
with its control, `measure` runs trials, `judge` gives verdicts, `report`, `drawing` and `document`
tell what was found. ``python -m verify.figures`` runs it all.
"""
