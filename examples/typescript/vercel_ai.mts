// Three runs of an agent of the Vercel AI SDK on one task: the third is warned by what failed twice.
//
// Needs Node.js 22, `npm install alma-memory ai zod`, and `alma serve`, with a token of it in ALMA_TOKEN. The model
// follows a script, so that it needs no key; put one of a provider in its place.
import { generateText, isStepCount, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { ALMA } from "alma-memory";
import { almaMiddleware } from "alma-memory/ai";
import { z } from "zod";

const alma = new ALMA({ baseUrl: process.env.ALMA_URL });

const deploy = tool({
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

const middleware = almaMiddleware(alma, {
  agent: "vercel-deployer",
  specificationVersion: "v4",
  verdict: ({ answer }) => answer === "It is live.",
});
const model = wrapLanguageModel({ model: script, middleware });

for (const run of [1, 2, 3]) {
  const prompt = "Deploy the auth service to production";
  console.log(`${run}. ${(await alma.retrieve({ query: prompt, agent: "vercel-deployer" })).prompt}`);
  const { text } = await generateText({ model, tools: { deploy }, stopWhen: isStepCount(5), prompt });
  console.log(text);
}
