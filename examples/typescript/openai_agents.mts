// Three runs of an agent of the OpenAI Agents SDK on one task: the third is warned by what failed twice.
//
// Needs Node.js 20 or later, `npm install alma-memory @openai/agents zod`, and `alma serve`, with a token of it in
// ALMA_TOKEN. The model follows a script, so that it needs no key; leave out `model` for one of OpenAI.
import { Agent, type Model, type ModelRequest, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import { ALMA } from "alma-memory";
import { almaRun } from "alma-memory/openai-agents";
import { z } from "zod";

setTracingDisabled(true);
const alma = new ALMA({ baseUrl: process.env.ALMA_URL });

const deploy = tool({
  name: "deploy",
  description: "Deploys the auth service.",
  parameters: z.object({ way: z.enum(["rolling", "blue-green"]) }),
  // The SDK hides the errors of tools; this shows the model, and the memory, what went wrong.
  errorFunction: (_context, error) => `${error}`,
  execute: async ({ way }) => {
    if (way === "rolling") throw new Error("502 bad gateway");
    return `live by ${way}`;
  },
});

/** Deploys at once, by another way if the notes say that the first one failed twice, and tells how it went. */
const script: Model = {
  async getResponse({ systemInstructions, input }: ModelRequest) {
    const said = JSON.stringify(input);
    const way = /rolling.*failed 2 of 2/.test(systemInstructions ?? "") ? "blue-green" : "rolling";
    const text = said.includes("live by") ? "It is live." : "It is not live.";
    const output = said.includes("function_call_result")
      ? { type: "message" as const, role: "assistant" as const, status: "completed" as const, content: [{ type: "output_text" as const, text }] }
      : { type: "function_call" as const, callId: crypto.randomUUID(), name: "deploy", arguments: JSON.stringify({ way }), status: "completed" as const };
    return { usage: new Usage({}), output: [output] };
  },
  async *getStreamedResponse() {},
};

const agent = new Agent({ name: "openai-deployer", instructions: "Deploy in one call of the tool.", model: script, tools: [deploy] });
const run = almaRun(alma, { runner: () => new Runner(), verdict: ({ answer }) => answer === "It is live." });

for (const number of [1, 2, 3]) {
  const task = "Deploy the auth service to production";
  console.log(`${number}. ${(await alma.retrieve({ query: task, agent: "openai-deployer" })).prompt}`);
  console.log((await run(agent, task)).finalOutput);
}
