// SPDX-License-Identifier: MIT
// node-llama-cpp as its users call it: the same completion with all layers on the device and with none.
//   node node.mjs MODEL.gguf PROMPT         (from the folder that has node_modules); one line: ok or FAIL
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const from = createRequire(process.cwd() + "/package.json");
const {getLlama, LlamaCompletion} = await import(pathToFileURL(from.resolve("node-llama-cpp")));
const [modelPath, prompt] = process.argv.slice(2);
const llama = await getLlama({gpu: "cuda", build: "never"});
const devices = await llama.getGpuDeviceNames();
const text = [];
let layers;

for (const gpuLayers of ["max", 0]) {
	const model = await llama.loadModel({modelPath, gpuLayers});
	const context = await model.createContext({contextSize: 256, threads: 1});
	const completion = new LlamaCompletion({contextSequence: context.getSequence()});
	layers ??= model.gpuLayers;
	// in tokens, for of a text it takes off the space that the model knows such a line with; and without the penalty for repeating, which is the
	// default: both leave the best two choices as near as rounding
	text.push(await completion.generateCompletion(model.tokenize(prompt), {maxTokens: 32, temperature: 0, repeatPenalty: false}));
	await context.dispose();
	await model.dispose();
}
const same = text[0] === text[1] && text[0].length > 32;
console.log(`${same && layers > 0 ? "ok" : "FAIL"} node-llama-cpp ${llama.gpu} on ${devices}, ${layers} layers: ` +
	JSON.stringify(text[0]) + (same ? ", the same without the device" : `, without the device ${JSON.stringify(text[1])}`));
process.exit(same && layers > 0 ? 0 : 1);
