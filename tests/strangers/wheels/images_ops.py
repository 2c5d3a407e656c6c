# SPDX-License-Identifier: MIT
"""pyclesperanto's CUDA back end against scipy: its wheel carries a cudart and an NVRTC of 12.6 under names that auditwheel gave them."""
import numpy as np
import pyclesperanto as cle
from scipy import ndimage

from check import check, end

r = np.random.default_rng(1)
for shape in ((64, 80), (20, 30, 40)):
    x, deep, of = r.random(shape).astype(np.float32), len(shape) == 3, f"in {len(shape)} dimensions"
    X = cle.push(x)
    check(f"weighted sum {of}", cle.pull(cle.add_images_weighted(X, X, factor1=2, factor2=-0.5)), 1.5 * x, 1e-6)
    check(f"Gauss {of}", cle.pull(cle.gaussian_blur(X, sigma_x=2, sigma_y=2, sigma_z=2 * deep)), ndimage.gaussian_filter(x, 2, mode="nearest"), 1e-4)
    check(f"mean {of}", cle.pull(cle.mean_box(X, radius_x=1, radius_y=1, radius_z=int(deep))), ndimage.uniform_filter(x, 3, mode="nearest"), 1e-5)
    check(f"most {of}", cle.pull(cle.maximum_box(X, radius_x=2, radius_y=2, radius_z=2 * deep)), ndimage.maximum_filter(x, 5, mode="nearest"))
    labels = cle.pull(cle.connected_component_labeling(cle.push((x > 0.7).astype(np.uint8)), connectivity="box"))
    check(f"labels {of}", int(labels.max()), ndimage.label(x > 0.7, np.ones((3,) * len(shape)))[1])
    check(f"sum {of}", cle.sum_of_all_pixels(X), x.sum(dtype=np.float64), 1e-4)
    check(f"transposed {of}", cle.pull(cle.transpose_xy(X)), np.swapaxes(x, -1, -2))
    check(f"powers {of}", cle.pull(cle.power(X, scalar=2.5)), x ** 2.5, 1e-5)
end()
