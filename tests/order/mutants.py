# SPDX-License-Identifier: MIT
"""Faults of order, one at a time, in a copy of the tree: name, file, text as it is, text as it becomes. mutants.sh builds and runs."""
import sys

STREAM, GRAPH = "tools/vgpu-stub/ctx_stream.c", "libcuda-lite/driver/graph_launch.c"
CORE, EVENT, HOST = "libcuda-lite/core/context.c", "libcuda-lite/driver/event.c", "libcuda-lite/core/hostfn.c"
COPY = "libcuda-lite/driver/copy.c"
MUTANTS = [
    ("a copy by the host waits for its stream's own work only", CORE,
     "return vg_wait_timeline_how(s->ctx, s->tl, vg_stream_mark(s), s->sleeps_at_once);",
     "return vg_wait_timeline_how(s->ctx, s->tl, s->index ? vg_stream_last(s) : vg_stream_mark(s), s->sleeps_at_once);"),
    ("the legacy barrier ignores one stream", STREAM,
     "phase = phase_enter(c, cmd->flags);", "phase = cmd->stream == 5 ? 0 : phase_enter(c, cmd->flags);"),
    ("the legacy barrier holds one phase only", STREAM,
     "if (phase && phase - 1 != c->phase_first)", "if (phase && phase - 1 > c->phase_first + 1)"),
    ("the legacy barrier opens when a launch has begun", STREAM,
     "\t\tif (r == CTX_PENDING) {\n", "\t\tif (r == CTX_PENDING) {\n\t\t\tphase_leave(c, phase);\n\t\t\ts->phase = 0;\n"),
    ("an event keeps its first recording", EVENT,
     "__atomic_store_n(&e->mark, mark_of(s, ticket), __ATOMIC_RELEASE);",
     "if (!e->mark)\n\t\t__atomic_store_n(&e->mark, mark_of(s, ticket), __ATOMIC_RELEASE);"),
    ("a wait takes streams of one number for one stream", EVENT,
     "(s->ctx == e->ctx && s->index == MARK_STREAM(mark))", "s->index == MARK_STREAM(mark)"),
    ("an event in the legacy stream does not stand for blocking streams", CORE,
     "if (s->index == 0 && __atomic_load_n(&s->ctx->blocking_ever, __ATOMIC_RELAXED))", "if (0)"),
    ("an event in a blocking stream does not stand for legacy work", CORE,
     "if (legacy > last && !vgpu_timeline_reached(s->ctx->legacy->tl, legacy))", "if (0)"),
    ("a query of the legacy stream ignores destroyed streams", CORE,
     "if (!c->streams[i] ? !c->dying_blocks[i] : !is_blocking(c->streams[i]))", "if (!c->streams[i] || !is_blocking(c->streams[i]))"),
    ("a context's end of work ignores destroyed streams", CORE, "\t\t\tlast = c->dying[i];\n", "\t\t\tlast = 0;\n"),
    ("a wait ends one command early", STREAM,
     "c->streams[VGPU_WAIT_STREAM(tl)].done >= cmd->wait_value", "c->streams[VGPU_WAIT_STREAM(tl)].done + 64 >= cmd->wait_value"),
    ("a wait for another context's stream is not kept", STREAM,
     "return vgpu_timeline_reached(t, cmd->wait_value) ||", "return vgpu_timeline_reached(t, cmd->wait_value - (cmd->wait_value < 64 ? cmd->wait_value : 64)) ||"),
    ("a wait for a value is always over", "tools/vgpu-stub/ctx_exec.c",
     "return *status || satisfied(b, v) ? CTX_DONE : CTX_POLL;", "return CTX_DONE;"),
    ("a host function comes before its turn", HOST,
     "if (vgpu_timeline_reached(j->tl, j->ticket) || vg_ctx_error(j->ctx)) {", "if (1) {"),
    ("a stream does not wait for its host function", HOST,
     "vg_submit(s, VGPU_OP_WAIT_VALUE, &b, NULL, 0);", "vg_submit(s, VGPU_OP_NOP, NULL, NULL, 0);"),
    ("a destroyed stream's gate is the next stream's at once", HOST,
     "vg_defer(VG_DEFER_WINDOW, g->ctx, g->stream, g->last, g->word, GATE_BYTES);", "vg_window_free(g->word, GATE_BYTES);"),
    ("a graph ends without its last step", GRAPH,
     "\t\timage = vg_submit_run(s, image, step->commands);\n",
     "\t\timage = vg_submit_run(i + 1 == e->nsteps && i ? s->ctx->host_stream : s, image, step->commands);\n"),
    ("an executable graph runs beside itself", GRAPH,
     "vg_submit_wait(s, VGPU_WAIT_TL(e->last_ctx->number, e->last_stream), e->last);", ";"),
    ("a graph's nodes run in the order of their making", "libcuda-lite/driver/graph.c",
     "if (next[depth] < x->before.n) {", "if (0 && next[depth] < x->before.n) {"),
    ("a foreign upload is not waited for", COPY,
     "return status ? status : vg_stream_reach((dst ? dst : src)->legacy);", "return status;"),
    ("a foreign fill is not waited for", COPY, "(async && !elsewhere)", "async"),
    ("a foreign copy does not wait for its stream", COPY,
     "\tuint32_t status = vg_stream_reach(s);\n\n\tif (!status && dst)", "\tuint32_t status = 0;\n\n\tif (!status && dst)"),
]

if sys.argv[1] == "count":
    print(len(MUTANTS))
elif sys.argv[1] == "name":
    print(MUTANTS[int(sys.argv[2])][0])
else:                           # apply N, or revert N
    _, path, old, new = MUTANTS[int(sys.argv[2])]
    if sys.argv[1] == "apply":
        text = open(path).read()
        if text.count(old) != 1:
            sys.exit(f"{path}: the text is there {text.count(old)} times: {old!r}")
        open(path + ".kept", "w").write(text)
        open(path, "w").write(text.replace(old, new))
    else:
        open(path, "w").write(open(path + ".kept").read())
