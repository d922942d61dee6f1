"""Only the labels are private, and nobody is trusted with them.

**Statement.** Each user reports a randomised label once; hard thresholding on the reports finds the
support of a sparse parameter.
**Reference.** WX21: Algorithms 2 and 5, with the noise that the stated privacy needs.
**Output.**

    support [ 7 30]
    label pure(epsilon=1)
"""

import numpy as np

from estimators import LabelHardThresholding
from minimax import Pure

rng = np.random.default_rng(0)
X = rng.choice([-1.0, 1.0], size=(5000, 400))
y = 0.8 * X[:, 7] - 0.6 * X[:, 30] + rng.uniform(-0.1, 0.1, 5000)
model = LabelHardThresholding(Pure(1.0, scope="label"), s=2, C=0.1, random_state=0).fit(X, y)
print("support", model.support_)
print(model.privacy_)
