// Three runs of a LangChain agent on one task: the third is warned by what failed twice.
//
// Needs Node.js 20 or later, `npm install alma-memory langchain @langchain/core zod`, and `alma serve`, with a token of it in
// ALMA_TOKEN. The model follows a script, so that it needs no key; put `"openai:gpt-5-mini"` or another in its place.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { ALMA } from "alma-memory";
import { almaMiddleware } from "alma-memory/langchain";
import { AIMessage, createAgent, tool, toolRetryMiddleware } from "langchain";
import { z } from "zod";

const alma = new ALMA({ baseUrl: process.env.ALMA_URL });

const deploy = tool(
  async ({ way }) => {
    if (way === "rolling") throw new Error("502 bad gateway");
    return `live by ${way}`;
  },
  { name: "deploy", description: "Deploys the auth service.", schema: z.object({ way: z.enum(["rolling", "blue-green"]) }) },
);

/** Deploys at once, by another way if the notes say that the first one failed twice, and tells how it went. */
class Script extends BaseChatModel {
  _llmType() {
    return "script";
  }

  override bindTools() {
    return this;
  }

  async _generate(messages: BaseMessage[]) {
    const said = messages.map(({ text }) => text).join("\n");
    const way = /rolling.*failed 2 of 2/.test(said) ? "blue-green" : "rolling";
    const message =
      messages.at(-1)?.type === "tool"
        ? new AIMessage(said.includes("live by") ? "It is live." : "It is not live.")
        : new AIMessage({ content: "", tool_calls: [{ id: crypto.randomUUID(), name: "deploy", args: { way } }] });
    return { generations: [{ text: message.text, message }] };
  }
}

const agent = createAgent({
  model: new Script({}),
  tools: [deploy],
  middleware: [
    // A tool that raises ends a run of LangChain; with this, the model is told the error instead.
    toolRetryMiddleware({ maxRetries: 0, onFailure: "continue" }),
    almaMiddleware(alma, { agent: "langchain-deployer", verdict: ({ answer }) => answer === "It is live." }),
  ],
});

for (const run of [1, 2, 3]) {
  const content = "Deploy the auth service to production";
  console.log(`${run}. ${(await alma.retrieve({ query: content, agent: "langchain-deployer" })).prompt}`);
  const { messages } = await agent.invoke({ messages: [{ role: "user", content }] });
  console.log(messages.at(-1)?.text);
}
