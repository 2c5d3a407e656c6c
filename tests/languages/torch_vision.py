# SPDX-License-Identifier: MIT
"""torchvision on the device by vgpu run --torch, against the CPU: its own operators, which its wheel has as machine code alone, forwards and backwards,
transforms, and detectors that use them, of random weights. A check has its number: how far it may be off, of the largest value."""
import copy
import sys
import warnings
import torch
import torchvision
from torchvision import ops
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

warnings.simplefilter("ignore")


def off(got, want):
    got, want = got.detach().cpu().double(), want.detach().double()
    assert got.shape == want.shape, (got.shape, want.shape)
    return (got - want).abs().max().item() / max(want.abs().max().item(), 1e-12) if want.numel() else 0


def pairs(n):
    corners = torch.rand(n, 4)
    corners[:, 2:] += corners[:, :2]
    return corners


def suppressed():
    boxes, scores, kinds = pairs(200), torch.rand(200), torch.arange(200) % 3
    assert torch.equal(ops.nms(boxes.cuda(), scores.cuda(), 0.4).cpu(), ops.nms(boxes, scores, 0.4))
    assert torch.equal(ops.batched_nms(boxes.cuda(), scores.cuda(), kinds.cuda(), 0.4).cpu(), ops.batched_nms(boxes, scores, kinds, 0.4))
    return 0


def regions(f, channels, *args, **keywords):
    """A pooling of regions, and its gradient."""
    x = torch.randn(2, channels, 20, 20)
    boxes = torch.tensor([[0, 1.0, 1.0, 10.0, 12.0], [1, 3.0, 3.0, 18.0, 15.0], [0, 0.0, 0.0, 19.0, 19.0]])
    out = []
    for device in ("cpu", "cuda"):
        given = x.detach().to(device).requires_grad_()
        result = f(given, boxes.to(device), *args, **keywords)
        result.pow(2).sum().backward()
        out.append((result, given.grad))
    return max(off(a, b) for a, b in zip(out[1], (t.detach() for t in out[0])))


def deformed():
    layer, x, offsets, mask = ops.DeformConv2d(4, 6, 3, padding=1), torch.randn(2, 4, 9, 9), torch.randn(2, 18, 9, 9), torch.rand(2, 9, 9, 9)
    out = []
    for device in ("cpu", "cuda"):
        there = copy.deepcopy(layer).to(device)
        given = [t.detach().to(device).requires_grad_() for t in (x, offsets, mask)]
        result = there(*given)
        result.pow(2).sum().backward()
        out.append((result, there.weight.grad, there.bias.grad, *(t.grad for t in given)))
    return max(off(a, b) for a, b in zip(out[1], out[0]))


def transforms():
    image = torch.rand(3, 40, 50)
    worst = 0
    for f in (v2.Resize((20, 33)), v2.Resize((20, 33), antialias=False), v2.GaussianBlur(5, sigma=1.3), v2.Pad(3, padding_mode="reflect"), v2.Normalize([0.5] * 3, [0.2] * 3),
              v2.Grayscale(), v2.RandomSolarize(0.5, p=1.0), lambda t: F.rotate(t, 30.0, interpolation=v2.InterpolationMode.BILINEAR), lambda t: F.adjust_hue(t, 0.2),
              lambda t: F.affine(t, 10.0, [2, 3], 1.1, [5.0, 2.0], interpolation=v2.InterpolationMode.BILINEAR), lambda t: F.adjust_sharpness(t, 2.0),
              lambda t: F.equalize((t * 255).byte()), lambda t: F.adjust_hue((t * 255).byte(), 0.2)):
        worst = max(worst, off(f(image.cuda()), f(image)))
    return worst


def found():
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5, box_score_thresh=0.0).eval()
    image = torch.rand(3, 120, 160)
    with torch.no_grad():
        want, got = model([image])[0], copy.deepcopy(model).cuda()([image.cuda()])[0]
    assert len(want["boxes"]) > 10
    return max(off(got[k], want[k]) for k in ("boxes", "scores"))


def trained():
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5).train()
    image, target = torch.rand(3, 120, 160), {"boxes": torch.tensor([[10.0, 10, 60, 80], [50, 20, 150, 110]]), "labels": torch.tensor([1, 3])}
    model.roi_heads.fg_bg_sampler.batch_size_per_image = model.rpn.fg_bg_sampler.batch_size_per_image = 10 ** 6        # of all candidates, else some are drawn
    model.roi_heads.fg_bg_sampler.positive_fraction = model.rpn.fg_bg_sampler.positive_fraction = 1.0
    want = model([image], [target])
    there = copy.deepcopy(model).cuda()
    got = there([image.cuda()], [{k: v.cuda() for k, v in target.items()}])
    sum(want.values()).backward()
    sum(got.values()).backward()
    assert all((p.grad is None) == (q.grad is None) for p, q in zip(there.parameters(), model.parameters()))
    # the CPU's own is 6e-3 of what doubles give
    assert off(there.roi_heads.box_head.fc6.weight.grad, model.roi_heads.box_head.fc6.weight.grad) < 2e-2
    return max(off(got[k], want[k]) for k in want)


CHECKS = {
    "nms": (suppressed, 0),
    "roi_align": (lambda: regions(ops.roi_align, 4, (5, 5)), 1e-5),
    "roi_align, aligned": (lambda: regions(ops.roi_align, 4, (5, 5), 0.9, 2, True), 1e-5),
    "roi_pool": (lambda: regions(ops.roi_pool, 4, (5, 5)), 1e-5),
    "ps_roi_align": (lambda: regions(ops.ps_roi_align, 100, 5), 1e-5),
    "ps_roi_pool": (lambda: regions(ops.ps_roi_pool, 100, 5), 1e-5),
    "deform_conv2d": (deformed, 1e-5),
    "transforms": (transforms, 1e-5),
    "detector": (found, 1e-3),
    "detector, training": (trained, 1e-4),
}


def main():
    bad = 0
    for name, (check, bound) in CHECKS.items():
        torch.manual_seed(0)
        try:
            error = check()
            good = error <= bound
            why = f"off by {error:.2g}"
        except Exception as e:
            good, why = False, f"{type(e).__name__} " + " ".join(str(e).split())[:300]
        print("ok" if good else "FAIL", name, "" if good else why)
        sys.stdout.flush()
        bad += not good
    return bad


if __name__ == "__main__":
    sys.exit(bool(main()))
