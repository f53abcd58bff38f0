// Three runs of a Mastra agent on one task: the third is warned by what failed twice.
//
// Needs Node.js 22, `npm install alma-memory @mastra/core ai zod`, and `alma serve`, with a token of it in
// ALMA_TOKEN. The model follows a script, so that it needs no key; put `"openai/gpt-5-mini"` or another in its place.
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { MockLanguageModelV4 } from "ai/test";
import { ALMA } from "alma-memory";
import { almaProcessor } from "alma-memory/mastra";
import { z } from "zod";

const alma = new ALMA({ baseUrl: process.env.ALMA_URL });

const deploy = createTool({
  id: "deploy",
  description: "Deploys the auth service.",
  inputSchema: z.object({ way: z.enum(["rolling", "blue-green"]) }),
  execute: async ({ way }) => {
    if (way === "rolling") throw new Error("502 bad gateway");
    return `live by ${way}`;
  },
});

/** Deploys at once, by another way if the notes say that the first one failed twice, and tells how it went. */
const script = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const said = JSON.stringify(prompt);
    const way = /rolling[^\n]*failed 2 of 2/.test(said) ? "blue-green" : "rolling";
    const content =
      prompt.at(-1)?.role === "tool"
        ? { type: "text" as const, text: said.includes("live by") ? "It is live." : "It is not live." }
        : { type: "tool-call" as const, toolCallId: crypto.randomUUID(), toolName: "deploy", input: JSON.stringify({ way }) };
    const unified = content.type === "text" ? "stop" : "tool-calls";
    const tokens = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as any;
    return { content: [content], finishReason: { unified, raw: unified }, usage: tokens, warnings: [] };
  },
});

const memory = almaProcessor(alma, { agent: "mastra-deployer", verdict: ({ answer }) => answer === "It is live." });
const agent = new Agent({
  id: "deployer",
  name: "deployer",
  instructions: "Deploy in one call of the tool.",
  model: script,
  tools: { deploy },
  inputProcessors: [memory],
  outputProcessors: [memory],
});

for (const run of [1, 2, 3]) {
  const task = "Deploy the auth service to production";
  console.log(`${run}. ${(await alma.retrieve({ query: task, agent: "mastra-deployer" })).prompt}`);
  console.log((await agent.generate(task)).text);
}
