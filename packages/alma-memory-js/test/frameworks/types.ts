// Compiled, not run: the entries fit the types of the frameworks.
import { Agent as MastraAgent } from "@mastra/core/agent";
import { Agent, Runner } from "@openai/agents";
import { generateText, wrapLanguageModel } from "ai";
import { generateText as generateText6, wrapLanguageModel as wrapLanguageModel6 } from "ai6";
import { MockLanguageModelV3 } from "ai6/test";
import { MockLanguageModelV4 } from "ai/test";
import { ALMA } from "alma-memory";
import { almaMiddleware, almaTools } from "alma-memory/ai";
import { almaMiddleware as langchainMiddleware } from "alma-memory/langchain";
import { almaProcessor } from "alma-memory/mastra";
import { almaRun, almaTools as agentTools } from "alma-memory/openai-agents";
import { createAgent } from "langchain";

const client = new ALMA();
const scope = { agent: "helena", userId: "ann" };

const model = wrapLanguageModel({
  model: new MockLanguageModelV4(),
  middleware: almaMiddleware(client, { ...scope, specificationVersion: "v4", verdict: ({ answer }) => answer.includes("live") }),
});
export const answered = generateText({ model, prompt: "Deploy", tools: almaTools(client, scope) });

const model6 = wrapLanguageModel6({ model: new MockLanguageModelV3(), middleware: almaMiddleware(client, scope) });
export const answered6 = generateText6({ model: model6, prompt: "Deploy", tools: almaTools(client, scope) });

export const agent = createAgent({
  model: "openai:none",
  middleware: [langchainMiddleware(client, { agent: "helena", userId: ({ configurable }) => configurable?.user as string })],
});

const processor = almaProcessor(client, { agent: "helena", userId: (context) => context?.get("userId") });
export const mastra = new MastraAgent({ id: "a", name: "a", instructions: "", model: "openai/none", inputProcessors: [processor], outputProcessors: [processor] });

const run = almaRun(client, { ...scope, runner: () => new Runner() });
export const finished: Promise<string | undefined> = run(new Agent({ name: "helena", tools: agentTools(client, scope) }), "Deploy").then((result) => result.finalOutput);
