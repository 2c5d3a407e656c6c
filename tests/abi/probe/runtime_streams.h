/* SPDX-License-Identifier: MIT */
/* The runtime probe's second half, included by runtime.cu: streams, events, capture and graphs, arrays. */
static void g_streams(void)
{
	cudaStream_t s = NULL, gone;
	unsigned int f = 7;
	int pr = 7;
	unsigned long long id = 0;
	cudaEvent_t a = NULL, b = NULL, n = NULL;
	float ms = 0;

	start();
	for (unsigned int i = 0; i < 4; i++) {
		tag("flags %u", i);
		R(cudaStreamCreateWithFlags(&s, i));
		R(cudaStreamCreateWithPriority(&s, i, -9));
		RV(cudaStreamGetPriority(s, &pr), "%d", pr);
		RV(cudaStreamGetFlags(s, &f), "%u", f);
		R(cudaEventCreateWithFlags(&a, i));
	}
	tag("%s", "");
	R(cudaEventCreateWithFlags(&a, 4));
	R(cudaEventCreateWithFlags(&a, 8));
	LAST();
	R(cudaStreamCreate(NULL));
	R(cudaStreamCreate(&s));
	R(cudaStreamGetFlags(NULL, &f));
	R(cudaStreamGetFlags(cudaStreamPerThread, &f));
	R(cudaStreamGetFlags(s, NULL));
	RV(cudaStreamGetId(NULL, &id), "%llu", id);
	R(cudaStreamDestroy(NULL));
	R(cudaStreamDestroy(cudaStreamLegacy));
	R(cudaStreamDestroy(cudaStreamPerThread));
	R(cudaStreamQuery(s));
	R(cudaStreamSynchronize(NULL));
	R(cudaStreamWaitEvent(s, NULL, 0));
	LAST();
	R(cudaEventCreate(&a));
	R(cudaEventCreate(&b));
	R(cudaEventCreateWithFlags(&n, cudaEventDisableTiming));
	R(cudaEventQuery(a));
	R(cudaEventSynchronize(a));
	R(cudaEventElapsedTime(&ms, a, b));
	R(cudaEventRecord(a, s));
	R(cudaStreamSynchronize(s));
	R(cudaEventElapsedTime(&ms, a, b));
	R(cudaEventRecord(b, s));
	R(cudaEventSynchronize(b));
	R(cudaEventElapsedTime(&ms, a, b));
	R(cudaEventElapsedTime(NULL, a, b));
	R(cudaEventElapsedTime(&ms, a, n));
	R(cudaEventRecord(n, s));
	R(cudaStreamSynchronize(s));
	R(cudaEventElapsedTime(&ms, a, n));
	R(cudaEventElapsedTime(&ms, NULL, b));
	LAST();
	R(cudaEventRecord(NULL, s));
	R(cudaEventQuery(NULL));
	R(cudaEventSynchronize(NULL));
	R(cudaEventDestroy(NULL));
	R(cudaEventCreate(NULL));
	R(cudaEventRecordWithFlags(a, s, 2));
	LAST();
	gone = s;
	R(cudaStreamDestroy(s));
	R(cudaStreamQuery(gone));
	R(cudaStreamSynchronize(gone));
	R(cudaStreamDestroy(gone));
	R(cudaMemsetAsync(dev(16), 0, 16, gone));
	LAST();
	R(cudaEventDestroy(a));
	R(cudaEventQuery(a));
	R(cudaEventDestroy(a));
	LAST();
}

static void g_capture(void)
{
	cudaStream_t s = NULL, o = NULL;
	cudaGraph_t g = NULL;
	cudaGraphExec_t x = NULL;
	enum cudaStreamCaptureStatus st = (enum cudaStreamCaptureStatus)7;
	enum cudaStreamCaptureMode m = cudaStreamCaptureModeRelaxed;
	void *p, *h = NULL;
	cudaEvent_t e = NULL;
	size_t n = 7;
	static char host[64];

	start();
	p = dev(4096);
	cudaMallocHost(&h, 64);
	cudaEventCreate(&e);
	R(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal));
	R(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal));
	LAST();
	for (int mode = 0; mode < 4; mode++)
		for (int k = 0; k < 20; k++) {
			cudaStreamCreateWithFlags(&s, mode == 1 ? cudaStreamNonBlocking : 0);
			cudaStreamCreate(&o);
			void *q = NULL;

			cudaDeviceSynchronize();
			tag("mode %d, call %d", mode, k);
			R(cudaStreamBeginCapture(s, (enum cudaStreamCaptureMode)mode));
			switch (k) {
			case 0: R(cudaStreamSynchronize(s)); break;
			case 1: R(cudaStreamQuery(s)); break;
			case 2: R(cudaDeviceSynchronize()); break;
			case 3: R(cudaMalloc(&q, 64)); break;
			case 4: R(cudaFree(p)); p = dev(4096); break;
			case 5: R(cudaMemcpy(p, host, 16, cudaMemcpyHostToDevice)); break;
			case 6: R(cudaMemcpyAsync(p, host, 16, cudaMemcpyHostToDevice, s)); break;
			case 7: R(cudaMemset(p, 0, 16)); break;
			case 8: nop<<<1, 1>>>(); R(cudaGetLastError()); break;
			case 9: nop<<<1, 1, 0, s>>>(); R(cudaGetLastError()); break;
			case 10: nop<<<0, 1, 0, s>>>(); R(cudaGetLastError()); break;
			case 11: R(cudaMallocAsync(&q, 64, s)); break;
			case 12: R(cudaMallocHost(&q, 64)); break;
			case 13:
				R(cudaEventRecord(e, s));
				if (mode == 3)
					cudaStreamSynchronize(s);       /* not captured: whether it has happened is chance */
				R(cudaEventQuery(e));
				break;
			case 14: R(cudaEventRecord(e, NULL)); break;
			case 15: R(cudaStreamIsCapturing(NULL, &st)); break;
			case 16: R(cudaMemcpyToSymbol(F(&counter), host, 4)); break;
			case 17: R(cudaMemcpyToSymbolAsync(F(&counter), h, 4, 0, cudaMemcpyHostToDevice, s)); break;
			case 18: R(cudaStreamSynchronize(o)); break;
			case 19: R(cudaEventElapsedTime((float *)&n, e, e)); break;
			}
			R(cudaPeekAtLastError());
			RV(cudaStreamIsCapturing(s, &st), "%d", st);
			g = (cudaGraph_t)W(7);
			R(cudaStreamEndCapture(s, &g));
			SAY("graph %s", !g ? "null" : g == (cudaGraph_t)W(7) ? "untouched" : "set");
			R(cudaGetLastError());
			cudaThreadExchangeStreamCaptureMode(&m);
			cudaThreadExchangeStreamCaptureMode(&m);
		}
	tag("graph");
	R(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	nop<<<1, 1, 0, s>>>();
	R(cudaStreamEndCapture(s, &g));
	RV(cudaGraphGetNodes(g, NULL, &n), "%zu", n);
	R(cudaGraphInstantiate(&x, g, 0));
	R(cudaGraphInstantiate(&x, g, 99));
	R(cudaGraphInstantiate(NULL, g, 0));
	R(cudaGraphInstantiate(&x, NULL, 0));
	R(cudaGraphLaunch(x, s));
	R(cudaGraphLaunch(NULL, s));
	R(cudaGraphDestroy(NULL));
	R(cudaGraphExecDestroy(NULL));
	R(cudaGraphCreate(&g, 1));
	R(cudaGraphCreate(NULL, 0));
	LAST();
	R(cudaGraphCreate(&g, 0));
	cudaGraphNode_t node = NULL;
	struct cudaKernelNodeParams kp;
	memset(&kp, 0, sizeof kp);
	R(cudaGraphAddKernelNode(&node, g, NULL, 0, &kp));
	kp.func = (void *)F(nop), kp.gridDim = dim3(1, 1, 1), kp.blockDim = dim3(1, 1, 1);
	R(cudaGraphAddKernelNode(&node, g, NULL, 0, &kp));
	kp.blockDim = dim3(0, 1, 1);
	R(cudaGraphKernelNodeSetParams(node, &kp));
	kp.blockDim = dim3(1, 1, 1), kp.func = (void *)F(not_a_kernel);
	R(cudaGraphKernelNodeSetParams(node, &kp));
	R(cudaGraphAddKernelNode(&node, g, NULL, 0, &kp));
	R(cudaGraphAddKernelNode(&node, g, NULL, 0, NULL));
	R(cudaGraphAddMemcpyNode1D(&node, g, NULL, 0, p, host, 16, cudaMemcpyHostToDevice));
	R(cudaGraphAddMemcpyNode1D(&node, g, NULL, 0, p, host, 16, cudaMemcpyDeviceToHost));
	R(cudaGraphAddMemcpyNode1D(&node, g, NULL, 0, p, host, 0, cudaMemcpyHostToDevice));
	R(cudaGraphAddMemcpyNodeToSymbol(&node, g, NULL, 0, F(&counter), host, 4, 0, cudaMemcpyHostToDevice));
	R(cudaGraphAddMemcpyNodeToSymbol(&node, g, NULL, 0, F(&counter), host, 5, 0, cudaMemcpyHostToDevice));
	R(cudaGraphAddMemcpyNodeToSymbol(&node, g, NULL, 0, F(&no_symbol), host, 4, 0, cudaMemcpyHostToDevice));
	LAST();
	R(cudaDeviceSynchronize());
}

static void g_arrays(void)
{
	cudaArray_t a = NULL;
	struct cudaChannelFormatDesc d, o;
	struct cudaExtent x;
	unsigned int fl = 7;
	size_t w = 7;
	static const int bits[][4] = { { 8, 0, 0, 0 }, { 16, 0, 0, 0 }, { 32, 0, 0, 0 }, { 8, 8, 0, 0 }, { 8, 8, 8, 0 }, { 8, 8, 8, 8 }, { 32, 32, 32, 32 }, { 64, 0, 0, 0 }, { 0, 0, 0, 0 }, { 8, 16, 0, 0 }, { 4, 0, 0, 0 } };

	start();
	for (size_t i = 0; i < NEL(bits); i++)
		for (int k = 0; k < 4; k++) {
			d = cudaCreateChannelDesc(bits[i][0], bits[i][1], bits[i][2], bits[i][3], (enum cudaChannelFormatKind)k);
			tag("%d %d %d %d, kind %d", bits[i][0], bits[i][1], bits[i][2], bits[i][3], k);
			a = NULL;
			R(cudaMallocArray(&a, &d, 16, 16));
			if (a)
				RV(cudaArrayGetInfo(&o, &x, &fl, a), "%d %d %d %d kind %d, %zu %zu %zu, flags %u", o.x, o.y, o.z, o.w, o.f, x.width, x.height, x.depth, fl);
			RV(cudaDeviceGetTexture1DLinearMaxWidth(&w, &d, 0), "%zu", w);
			cudaGetLastError();
		}
	d = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	for (unsigned int f = 0; f < 16; f++) {
		tag("flags %u", f);
		R(cudaMallocArray(&a, &d, 16, 16, f));
		R(cudaMalloc3DArray(&a, &d, make_cudaExtent(16, 16, 6), f));
		cudaGetLastError();
	}
	tag("%s", "");
	R(cudaMallocArray(NULL, &d, 16, 16));
	R(cudaMallocArray(&a, NULL, 16, 16));
	R(cudaMallocArray(&a, &d, 0, 0));
	R(cudaMallocArray(&a, &d, 0, 16));
	R(cudaMallocArray(&a, &d, 1 << 20, 16));
	LAST();
	R(cudaFreeArray(NULL));
	R(cudaMallocArray(&a, &d, 16, 16));
	static char host[4096];
	R(cudaMemcpy2DToArray(a, 0, 0, host, 64, 64, 16, cudaMemcpyHostToDevice));
	R(cudaMemcpy2DToArray(a, 0, 0, host, 63, 64, 16, cudaMemcpyHostToDevice));
	R(cudaMemcpy2DToArray(a, 4, 0, host, 64, 64, 16, cudaMemcpyHostToDevice));
	R(cudaMemcpy2DToArray(a, 2, 0, host, 64, 4, 1, cudaMemcpyHostToDevice));
	R(cudaMemcpy2DToArray(a, 0, 0, host, 64, 64, 16, cudaMemcpyDeviceToHost));
	R(cudaMemcpy2DToArray(NULL, 0, 0, host, 64, 64, 16, cudaMemcpyHostToDevice));
	R(cudaMemcpy2DFromArray(host, 64, a, 0, 0, 64, 17, cudaMemcpyDeviceToHost));
	LAST();
	struct cudaResourceDesc r;
	struct cudaTextureDesc t;
	cudaTextureObject_t tex = 0;
	memset(&r, 0, sizeof r);
	memset(&t, 0, sizeof t);
	r.res.array.array = a;
	R(cudaCreateTextureObject(&tex, &r, &t, NULL));
	R(cudaCreateTextureObject(&tex, &r, NULL, NULL));
	R(cudaCreateTextureObject(NULL, &r, &t, NULL));
	t.readMode = cudaReadModeNormalizedFloat;
	R(cudaCreateTextureObject(&tex, &r, &t, NULL));
	r.res.array.array = NULL;
	R(cudaCreateTextureObject(&tex, &r, &t, NULL));
	R(cudaDestroyTextureObject(0));
	LAST();
}
