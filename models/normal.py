"""The quantile of the standard normal law in a compiled loop.

Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied
Statistics 37, 1988: three rational functions, together precise to 1e-15.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import kernel

__all__ = ["normal_quantile"]


@kernel
def normal_quantile(out: FloatArray, tail: FloatArray) -> None:
    """Replace probabilities in (0, 1) by the quantiles of the standard normal law.

    Parameters
    ----------
    out
        float64 (k,).
    tail
        float64 (k,): ``-log`` of the probability or of its complement, whichever is smaller.
    """
    for i in range(out.size):
        q = out[i] - 0.5
        if abs(q) <= 0.425:
            out[i] = q * _middle(0.180625 - q * q)
        else:
            r = np.sqrt(tail[i])
            value = _outer(r - 1.6) if r <= 5.0 else _outermost(r - 5.0)
            out[i] = value if q > 0.0 else -value


@kernel
def _middle(r: float) -> float:
    top = 2.5090809287301226727e3 * r + 3.3430575583588128105e4
    top = top * r + 6.7265770927008700853e4
    top = top * r + 4.5921953931549871457e4
    top = top * r + 1.3731693765509461125e4
    top = top * r + 1.9715909503065514427e3
    top = top * r + 1.3314166789178437745e2
    top = top * r + 3.3871328727963666080
    low = 5.2264952788528545610e3 * r + 2.8729085735721942674e4
    low = low * r + 3.9307895800092710610e4
    low = low * r + 2.1213794301586595867e4
    low = low * r + 5.3941960214247511077e3
    low = low * r + 6.8718700749205790830e2
    low = low * r + 4.2313330701600911252e1
    return top / (low * r + 1.0)


@kernel
def _outer(r: float) -> float:
    top = 7.74545014278341407640e-4 * r + 2.27238449892691845833e-2
    top = top * r + 2.41780725177450611770e-1
    top = top * r + 1.27045825245236838258
    top = top * r + 3.64784832476320460504
    top = top * r + 5.76949722146069140550
    top = top * r + 4.63033784615654529590
    top = top * r + 1.42343711074968357734
    low = 1.05075007164441684324e-9 * r + 5.47593808499534494600e-4
    low = low * r + 1.51986665636164571966e-2
    low = low * r + 1.48103976427480074590e-1
    low = low * r + 6.89767334985100004550e-1
    low = low * r + 1.67638483018380384940
    low = low * r + 2.05319162663775882187
    return top / (low * r + 1.0)


@kernel
def _outermost(r: float) -> float:
    top = 2.01033439929228813265e-7 * r + 2.71155556874348757815e-5
    top = top * r + 1.24266094738807843860e-3
    top = top * r + 2.65321895265761230930e-2
    top = top * r + 2.96560571828504891230e-1
    top = top * r + 1.78482653991729133580
    top = top * r + 5.46378491116411436990
    top = top * r + 6.65790464350110377720
    low = 2.04426310338993978564e-15 * r + 1.42151175831644588870e-7
    low = low * r + 1.84631831751005468180e-5
    low = low * r + 7.86869131145613259100e-4
    low = low * r + 1.48753612908506148525e-2
    low = low * r + 1.36929880922735805310e-1
    low = low * r + 5.99832206555887937690e-1
    return top / (low * r + 1.0)
