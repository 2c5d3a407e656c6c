// SPDX-License-Identifier: MIT
// llama.node as its users call it: greedy text, as JSON.
//   node strangers.mjs MODEL.gguf LAYERS on|off PROMPT      (from the folder that has node_modules; off: no flash attention)
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const from = createRequire(process.cwd() + "/package.json");
const {loadModel} = (await import(pathToFileURL(from.resolve("@fugood/llama.node")))).default;
const [model, layers, flash, prompt] = process.argv.slice(2);
const context = await loadModel({model, n_gpu_layers: Number(layers), n_ctx: 256, n_threads: 1, flash_attn_type: flash,
	lib_variant: "cuda"});
const {text} = await context.completion({prompt, n_predict: 64, temperature: 0, top_k: 1, seed: 1});
console.log(JSON.stringify(text));
await context.release();
process.exit(0);
