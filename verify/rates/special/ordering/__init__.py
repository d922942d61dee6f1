"""Which private method has the smaller error, where the papers report an ordering.

Unlike a bound, an ordering can fall either way without anything being wrong, so nothing here is a
verdict on the code: orderings are measured and told.

**Protocol.** Per trial one data set is drawn and every method is fitted to it at every budget, each
with noise of its own, so differences between methods are paired. A method's options are those of
its declared grid with the smallest mean error over separate tuning trials, for which theta* must be
known; no privacy is charged for it. That is optimistic, for every method alike: what is compared is
the best each can do on its grid. (WG19 §6 tunes by cross-validation, also without charge; CWZ19
§5.1 tunes R privately.) Every private fit really has the (epsilon, delta) asked for, except rows
named "paper's noise", which spend more, each by a factor of its own: `epsilon_spent`.

**Error.** |coef - theta*|_2/|theta*|_2. Releasing 0 has error 1.
"""
