# SPDX-License-Identifier: MIT
"""torch.distributed's nccl backend with three processes on one device: collectives, pairs, a group of its own, DistributedDataParallel. Every
rank checks what it gets; the first prints ok and FAIL lines for all."""
import os
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

RANKS = 3


def all_reduce(rank, d):
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64, torch.uint8, torch.int8):
        each = [((torch.arange(1000) % 7) + r).to(dtype) for r in range(RANKS)]
        for op, want in ((dist.ReduceOp.SUM, sum(each)), (dist.ReduceOp.MAX, each[-1]), (dist.ReduceOp.MIN, each[0])):
            t = each[rank].to(d)
            dist.all_reduce(t, op)
            assert torch.equal(t.cpu(), want), (dtype, op)


def gather_and_scatter(rank, d):
    g = [torch.zeros(10, device=d) for _ in range(RANKS)]
    dist.all_gather(g, torch.full((10,), float(rank), device=d))
    assert [x.unique().tolist() for x in g] == [[float(r)] for r in range(RANKS)]
    o = torch.empty(4, device=d)
    dist.reduce_scatter_tensor(o, torch.arange(4 * RANKS, device=d, dtype=torch.float32), op=dist.ReduceOp.AVG)
    assert torch.equal(o.cpu(), torch.arange(4 * RANKS, dtype=torch.float32)[rank * 4:rank * 4 + 4])
    a = torch.arange(RANKS, device=d) + 10 * rank
    b = torch.empty_like(a)
    dist.all_to_all_single(b, a)
    assert b.tolist() == [10 * r + rank for r in range(RANKS)]
    t = torch.full((1 << 20,), float(rank + 1), device=d)
    dist.broadcast(t, 1)
    assert t.unique().tolist() == [2.0]


def pairs(rank, d):
    x = torch.zeros(70000, device=d)
    ops = [dist.P2POp(dist.isend, torch.full((70000,), float(rank), device=d), (rank + 1) % RANKS),
           dist.P2POp(dist.irecv, x, (rank - 1) % RANKS)]
    for w in dist.batch_isend_irecv(ops):
        w.wait()
    assert x.unique().tolist() == [float((rank - 1) % RANKS)]


def group_of_its_own(rank, d):
    sub = dist.new_group([0, 2])
    if rank != 1:
        y = torch.ones(3, device=d)
        dist.all_reduce(y, group=sub)
        assert y.tolist() == [2.0, 2.0, 2.0]
    dist.barrier(device_ids=[0])


def data_parallel(rank, d):
    torch.manual_seed(0)
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1).to(d), device_ids=[0])
    opt = torch.optim.SGD(m.parameters(), lr=0.05)
    torch.manual_seed(100 + rank)
    first = last = None
    for _ in range(20):
        x = torch.randn(16, 8, device=d)
        loss = (m(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        last = loss.item()
        first = first or last
    w = m.module.weight.detach().clone()
    all_w = [torch.empty_like(w) for _ in range(RANKS)]
    dist.all_gather(all_w, w)
    assert all(torch.equal(all_w[0], v) for v in all_w), "the ranks' weights differ"
    assert last < first / 4, f"it does not learn: {first} to {last}"


def run(rank, port, failed):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_SOCKET_IFNAME="lo")
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=rank, world_size=RANKS, device_id=torch.device("cuda", 0))
    for case in (all_reduce, gather_and_scatter, pairs, group_of_its_own, data_parallel):
        why = ""
        try:
            case(rank, torch.device("cuda", 0))
        except AssertionError as e:     # the next case may still be right
            why = f"rank {rank}: {e}"
        all_why = [None] * RANKS
        dist.all_gather_object(all_why, why)
        if rank == 0:
            said = " ".join(" ".join(all_why).split())
            print("FAIL" if said else "ok", case.__name__.replace("_", " ") + " " * bool(said) + said[:300], flush=True)
            failed.value |= bool(said)
    ours = any("libnccl.so.2" in line and "nvidia" not in line for line in open("/proc/self/maps"))
    if rank == 0:
        print("ok" if ours else "FAIL", "the library is vgpu's", flush=True)
        failed.value |= not ours
    dist.destroy_process_group()


if __name__ == "__main__":
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free = s.getsockname()[1]
    bad = mp.get_context("spawn").Value("i", 0)
    mp.spawn(run, args=(free, bad), nprocs=RANKS)
    sys.exit(bad.value)
