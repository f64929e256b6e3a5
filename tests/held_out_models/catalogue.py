"""All held-out models by name."""

import first_half
import fourth_part
import operator_part
import second_half
import third_part

MODELS = {**first_half.MODELS, **second_half.MODELS, **third_part.MODELS,
          **fourth_part.MODELS}

# Known while the program was changed: no test of its accuracy.
DEVELOPMENT = operator_part.PART
