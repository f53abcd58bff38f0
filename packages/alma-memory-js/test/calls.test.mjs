import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ALMA, createClient, FeedbackSignal, isNotFoundError, isNotImplementedError, isValidationError } from "alma-memory";
import { Server } from "./serving.mjs";

const AGENT = "helena";
const TASK = "Test the login form";
let server, alma;

before(async () => {
  server = await Server.start();
  alma = new ALMA({ ...server.config, projectId: "shop" });
});
after(() => server.stop());

const learned = async (fields = {}) => (await alma.learn({ agent: AGENT, task: TASK, outcome: "success", strategyUsed: "Empty fields first", ...fields })).outcome;
const collected = async (items) => {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
};

describe("the published calls", () => {
  it("retrieve returns what was learned, by kind and as notes", async () => {
    const outcome = await learned();
    await alma.addKnowledge({ agent: AGENT, domain: "login form", fact: "The login form has two fields to test" });
    const found = await alma.retrieve({ query: TASK, agent: AGENT, userId: "maria", topK: 5, includeShared: true });
    assert.equal(found.success, true);
    assert.ok(found.memories.outcomes.some((each) => each.id === outcome.id && each.success === true));
    assert.deepEqual(found.memories.domain_knowledge.map((each) => each.fact), ["The login form has two fields to test"]);
    assert.match(found.prompt_injection, /Empty fields first/);
    assert.deepEqual([found.memories.query, found.memories.agent, found.memories.total_items], [TASK, AGENT, found.ids.length]);
    assert.deepEqual((await alma.retrieve({ task: TASK, agent: AGENT })).ids, found.ids);
  });

  it("minConfidence leaves less certain memories out, of the notes too", async () => {
    const { knowledge } = await alma.addKnowledge({ agent: "vera", domain: "billing", fact: "Invoices are due in 30 days" });
    const asked = { query: "When are invoices due?", agent: "vera" };
    const all = await alma.retrieve(asked);
    assert.deepEqual(all.ids, [knowledge.id]);
    assert.match(all.prompt, /30 days/);
    const sure = await alma.retrieve({ ...asked, minConfidence: knowledge.confidence });
    assert.deepEqual(sure.ids, [knowledge.id]);
    const surer = await alma.retrieve({ ...asked, minConfidence: knowledge.confidence + 0.01 });
    assert.deepEqual([surer.ids, surer.memories.domain_knowledge, surer.found, surer.total_items], [[], [], [], 0]);
    assert.doesNotMatch(surer.prompt, /30 days/);
  });

  it("learn stores every argument, of a failure too", async () => {
    const outcome = await learned({
      task: "Deploy to production",
      taskType: "deployment",
      outcome: "failure",
      strategyUsed: "Direct push to main branch",
      errorMessage: "CI tests failed",
      durationMs: 45_000,
      feedback: "Should use feature branches",
    });
    const stored = await alma.get(outcome.id, { agent: AGENT });
    const { task_description, task_type, success, strategy_used, error_message, duration_ms, user_feedback } = stored;
    assert.deepEqual(
      [task_description, task_type, success, strategy_used, error_message, duration_ms, user_feedback],
      ["Deploy to production", "deployment", false, "Direct push to main branch", "CI tests failed", 45_000, "Should use feature branches"],
    );
    assert.equal((await learned({ outcome: true })).outcome, "success");
    assert.equal((await learned({ outcome: "unverified", strategyUsed: undefined, strategy_used: "as the quick start spells it" })).strategy_used, "as the quick start spells it");
  });

  it("addPreference and addKnowledge return what they stored", async () => {
    const { preference } = await alma.addPreference({
      userId: "user-123",
      category: "code_style",
      preference: "Always use TypeScript strict mode",
      source: "explicit_instruction",
    });
    assert.deepEqual([preference.user_id, preference.category, preference.source], ["user-123", "code_style", "explicit_instruction"]);
    const found = await alma.retrieve({ query: "Write TypeScript", agent: AGENT, userId: "user-123" });
    assert.deepEqual(found.memories.preferences.map((each) => each.id), [preference.id]);
    const { knowledge } = await alma.addKnowledge({ agent: AGENT, domain: "authentication", fact: "OAuth 2.0 with PKCE", source: "documentation" });
    assert.deepEqual([knowledge.agent, knowledge.domain, knowledge.source], [AGENT, "authentication", "documentation"]);
  });

  it("recordFeedback and recordUsage count, and return ids", async () => {
    const outcome = await learned({ agent: "fred" });
    const given = { memoryId: outcome.id, memoryType: "outcome", query: "login", agent: "fred", signal: FeedbackSignal.THUMBS_UP };
    assert.equal(await alma.recordFeedback(given), outcome.id);
    assert.deepEqual(await alma.recordUsage({ memoryIds: [outcome.id], memoryType: "outcome", query: "login", agent: "fred" }), [outcome.id]);
    assert.deepEqual(await alma.recordUsage({ agent: "fred", retrievedMemoryIds: [outcome.id], usedMemoryIds: [] }), [outcome.id]);
    const did = (await alma.history(outcome.id, { agent: "fred" })).map((each) => each.operation);
    assert.deepEqual(did.slice(0, 2), ["learn", "record_feedback"]);
    await assert.rejects(alma.recordFeedback({ ...given, memoryId: "01a22845-dc1d-714f-9c7b-2529c93dfd3f" }), isNotFoundError);
  });

  it("stats and health count", async () => {
    await learned({ agent: "countess" });
    const { stats } = await alma.stats("countess");
    assert.deepEqual([stats.total_count, stats.outcomes_count, stats.heuristics_count], [1, 1, 0]);
    const health = await alma.health();
    assert.equal(health.status, "healthy");
    assert.equal(health.total_memories, (await alma.stats()).stats.total_count);
    assert.ok(health.registered_agents.includes("countess"));
    const wrong = await new ALMA({ ...server.config, token: "alma_wrong" }).health();
    assert.deepEqual([wrong.success, wrong.status], [false, "unhealthy"]);
  });

  it("a number that JSON cannot carry is an error, and nothing is stored", async () => {
    for (const durationMs of [NaN, Infinity]) {
      const learn = alma.learn({ agent: "clockless", task: TASK, outcome: "success", durationMs });
      await assert.rejects(learn, { code: "VALIDATION_ERROR", field: "durationMs", message: `durationMs holds ${durationMs}` });
    }
    const learn = alma.learn({ agent: "clockless", task: TASK, outcome: "success", metadata: { sizes: [1, NaN], sized: { by: -Infinity } } });
    await assert.rejects(learn, { field: "metadata", message: "metadata holds NaN" });
    assert.equal((await alma.stats("clockless")).stats.total, 0);
  });

  it("forget archives by limits and by ids, and only reports with dryRun", async () => {
    const { id } = await learned({ agent: "oblivia" });
    const { pruned_count } = await alma.forget({ agent: "oblivia", olderThanDays: 90, belowConfidence: 0.3 });
    assert.equal(pruned_count, 0);
    assert.equal((await alma.forget({ agent: "oblivia", memoryIds: [id], dryRun: true })).pruned_count, 1);
    await alma.get(id, { agent: "oblivia" });
    assert.equal((await alma.forget({ agent: "oblivia", memoryIds: [id] })).pruned_count, 1);
    await assert.rejects(alma.get(id, { agent: "oblivia" }), isNotFoundError);
    await assert.rejects(alma.forget({ memoryIds: undefined }), isValidationError);
  });

  it("consolidate tells what says the same, and merges it when asked", async () => {
    for (const fact of ["The API uses JWT tokens", "the API uses JWT tokens"]) await alma.addKnowledge({ agent: "merger", domain: "auth", fact });
    const looked = await alma.consolidate({ agent: "merger" });
    assert.deepEqual([looked.success, looked.dry_run, looked.merged_count], [true, true, 1]);
    const done = await alma.consolidate({ agent: "merger", similarityThreshold: 0.9, dryRun: false });
    assert.deepEqual([done.dry_run, done.merged_count, done.merged[0].length], [false, 1, 2]);
    assert.equal((await alma.consolidate({ agent: "merger" })).merged_count, 0);
  });

  for (const [shape, names] of [["published", { runId: "run-1", nodeId: "node-a", branchId: "left" }], ["of ALMA", { workflowId: "run-2", node: "node-a", branch: "left" }]]) {
    it(`checkpoint, resume and cleanupCheckpoints, in the shape ${shape}`, async () => {
      const { nodeId: _, node: __, ...place } = names;
      assert.deepEqual(await alma.resume(place), { success: true, checkpoint: null, state: null });
      const first = await alma.checkpoint({ ...names, state: { step: 1, camelCase: { stays: true } }, metadata: { by: "test" } });
      assert.equal((await alma.checkpoint({ ...names, state: { step: 1, camelCase: { stays: true } }, metadata: { by: "test" } })).checkpointId, first.checkpointId);
      const second = await alma.checkpoint({ ...names, state: { step: 2 } });
      assert.equal(second.sequenceNumber, first.sequenceNumber + 1);
      const { checkpoint, state } = await alma.resume(place);
      assert.deepEqual(state, { step: 2 });
      assert.deepEqual([checkpoint.id, checkpoint.nodeId, checkpoint.branchId], [second.checkpointId, "node-a", "left"]);
      assert.deepEqual((await alma.resume({ ...place, checkpointId: second.checkpointId })).state, { step: 2 });
      await assert.rejects(alma.resume({ ...place, checkpointId: first.checkpointId }), isNotImplementedError);
      const workflow = "runId" in names ? { runId: names.runId } : { workflowId: names.workflowId, olderThanDays: 0 };
      assert.deepEqual(await alma.cleanupCheckpoints({ ...workflow, ...("runId" in names ? { keepLatest: 1 } : { keep: 1 }) }), { success: true, deleted: 1, kept: 1 });
      assert.deepEqual((await alma.resume(place)).state, { step: 2 });
    });
  }

  it("cleanupCheckpoints erases nothing where the workflow is missing or it cannot keep to the branch", async () => {
    await alma.checkpoint({ workflowId: "kept", state: { a: 1 } });
    await alma.checkpoint({ workflowId: "kept", state: { a: 2 } });
    await assert.rejects(alma.cleanupCheckpoints({ runId: undefined, olderThanDays: 0 }), isValidationError);
    await assert.rejects(alma.cleanupCheckpoints({ runId: "kept", branchId: "main" }), isNotImplementedError);
    assert.equal((await alma.cleanupCheckpoints({ workflowId: "kept", olderThanDays: 0 })).deleted, 1);
  });

  it("mergeStates merges branches that are stored, and states that are given", async () => {
    await alma.checkpoint({ runId: "fan-out", nodeId: "a", branchId: "left", state: { found: ["a"], n: 1 } });
    await alma.checkpoint({ runId: "fan-out", nodeId: "b", branchId: "right", state: { found: ["b"], n: 2 } });
    const merged = await alma.mergeStates({ runId: "fan-out", branchIds: ["left", "right"], reducers: { found: "merge_lists", n: "max" } });
    assert.deepEqual([merged.mergedState, merged.branchesMerged], [{ found: ["a", "b"], n: 2 }, 2]);
    const given = await alma.mergeStates({ workflowId: "fan-out", states: [{ n: 1 }, { n: 2 }], reducer: "latest_wins" });
    assert.deepEqual(given.mergedState, { n: 2 });
    await assert.rejects(alma.mergeStates({ runId: "fan-out", branchIds: ["left", "nowhere"] }), isNotFoundError);
  });

  it("workflowLearn and retrieveScoped, in both shapes", async () => {
    const context = { tenantId: "acme", workflowId: "nightly", runId: "run-7", nodeId: "build" };
    const published = await alma.workflowLearn({ context, agent: AGENT, result: "success", strategiesUsed: ["Build in parallel"], durationSeconds: 12, nodeCount: 3, successfulPatterns: ["cache"] });
    assert.equal(published.outcome.metadata.tenantId, "acme");
    await alma.workflowLearn({ workflowId: "weekly", agent: AGENT, result: "failure", summary: "The weekly build failed", strategiesUsed: ["Build one by one"] });
    const ids = async (options) => (await alma.retrieveScoped({ query: "Build the project", agent: AGENT, topK: 20, ...options })).ids;
    assert.deepEqual(await ids({ context, scope: "workflow" }), [published.outcomeId]);
    assert.deepEqual(await ids({ workflowId: "nightly", scope: "workflow_only" }), [published.outcomeId]);
    assert.ok((await ids({ scope: "agent" })).length >= 2);
    assert.equal((await alma.retrieveScoped({ query: "Build", agent: AGENT, context, scope: "tenant" })).scope, "tenant");
  });

  it("linkArtifact and getArtifacts, in both shapes", async () => {
    const published = { memoryId: "wf-artifacts", artifactType: "image", storageUrl: "s3://bucket/a.png", filename: "a.png", mimeType: "image/png", sizeBytes: 12, checksum: "sha256:1", metadata: { own: 1 } };
    const { artifact } = await alma.linkArtifact(published);
    assert.deepEqual({ ...published }, Object.fromEntries(Object.keys(published).map((name) => [name, artifact[name]])));
    await alma.linkArtifact({ workflowId: "wf-artifacts", artifactType: "code", ref: "git:abc" });
    const { artifacts } = await alma.getArtifacts({ memoryId: "wf-artifacts" });
    assert.deepEqual(artifacts.map((each) => [each.artifactType, each.ref]), [["image", "s3://bucket/a.png"], ["code", "git:abc"]]);
    assert.deepEqual((await alma.getArtifacts({ workflowId: "wf-artifacts", artifactType: "image" })).artifacts, [artifact]);
  });
});

describe("what is ours", () => {
  it("check, strategies and assess tell what failed and what worked", async () => {
    const vera = alma.withAgent("veronica");
    for (const outcome of ["failure", "failure", "failure"]) {
      await vera.learn({ task: "Deploy the shop", outcome, strategyUsed: "Deploy on Friday", errorMessage: "no one was there" });
    }
    await vera.learnMany([1, 2, 3].map(() => ({ task: "Deploy the shop", outcome: true, strategyUsed: "Canary rollout" })));
    const { warnings } = await vera.check("Deploy on Friday", { task: "Deploy the shop" });
    assert.equal(warnings[0].anti_pattern.pattern, "Deploy on Friday");
    const { rows } = await vera.strategies({ task: "Deploy the shop", includeSteps: false });
    assert.deepEqual(rows.map((each) => [each.strategy, each.successes, each.trials]), [["Canary rollout", 3, 3], ["Deploy on Friday", 0, 3]]);
    const assessed = await vera.assess({ context: "Deploy the shop", strategy: "Canary rollout" });
    assert.deepEqual([assessed.trials, assessed.successes], [3, 3]);
  });

  it("an episode records what was shown, steps, citations and the ending", async () => {
    const { knowledge } = await alma.addKnowledge({ agent: "eva", domain: "login form", fact: "The login form has two fields to test" });
    const eva = alma.withAgent("eva").withUser("maria");
    const episode = await eva.episode({ task: TASK });
    assert.match(episode.prompt, /two fields/);
    const step = await episode.step("npm test", { ok: false, error: "TypeError: x is undefined", tool: "bash" });
    assert.equal(step.number, 1);
    assert.deepEqual(await episode.observe(`As [${episode.memories[0].tag}] says`), [knowledge.id]);
    const ended = await episode.end({ outcome: "success", strategy: "Empty fields first" });
    assert.deepEqual([ended.status, ended.outcome, ended.user_id, ended.used], ["ended", "success", "maria", [knowledge.id]]);
    await episode[Symbol.asyncDispose]();
    const [settled] = await eva.settle({ episodeId: episode.id, outcome: "failure", reason: "the form was not there" });
    assert.equal(settled.outcome, "failure");
  });

  it("an episode that leaves its block ends as not judged", async () => {
    const episode = await alma.episode({ agent: AGENT, task: TASK });
    await episode[Symbol.asyncDispose]();
    assert.deepEqual([episode.record.status, episode.record.outcome], ["ended", "unverified"]);
  });

  it("list goes through all pages, once each", async () => {
    await alma.learnMany(Array.from({ length: 450 }, (_, n) => ({ agent: "lister", task: `Task ${n}`, outcome: "success", strategyUsed: "as ever" })));
    const ids = (await collected(alma.list({ agent: "lister", kind: "outcome", order: "oldest" }))).map((each) => each.id);
    assert.deepEqual([ids.length, new Set(ids).size], [450, 450]);
    const { value } = await alma.list({ agent: "lister", kind: "outcome" })[Symbol.asyncIterator]().next();
    assert.equal(value.id, ids.at(-1));
  });

  it("explain says why a memory is or is not returned", async () => {
    const { id } = await learned({ agent: "explainer" });
    assert.equal((await alma.explain(id, { task: TASK, agent: "explainer" })).reason, "selected");
    await assert.rejects(alma.explain(id, { task: TASK, agent: "another" }), isNotFoundError);
  });

  it("undo takes back what an agent did, and by default only reports", async () => {
    const { seq } = await alma.retrieve({ query: TASK, agent: "undoer" });
    const { id } = await learned({ agent: "undoer" });
    assert.equal((await alma.undo({ to: seq, actor: "undoer" })).dry_run, true);
    await alma.get(id, { agent: "undoer" });
    assert.deepEqual((await alma.undo({ to: seq, actor: "undoer", dryRun: false })).removed, [id]);
    await assert.rejects(alma.get(id, { agent: "undoer" }), isNotFoundError);
  });

  it("add stores every kind", async () => {
    const warning = await alma.addAntiPattern({ agent: AGENT, pattern: "Sleep in a test", whyBad: "It is slow and flaky", betterAlternative: "Wait for the event" });
    assert.equal(warning.why_bad, "It is slow and flaky");
    const way = await alma.add({ kind: "heuristic", agent: AGENT, condition: "a form", strategy: "Empty fields first" });
    assert.deepEqual([way.kind, way.success_rate], ["heuristic", 0]);
  });

  it("tokens and webhooks are managed, and a token keeps to what it is bound to", async () => {
    const { secret } = await alma.tokens.create({ name: "for-iris", agent: "iris", projects: ["shop"], rights: ["read", "write"] });
    const iris = new ALMA({ baseUrl: server.baseUrl, token: async () => secret });
    assert.equal((await iris.learn({ task: TASK, outcome: "success" })).outcome.agent, "iris");
    await assert.rejects(iris.learn({ agent: AGENT, task: TASK, outcome: "success" }), { code: "SCOPE_VIOLATION", agent: AGENT, statusCode: 403 });
    assert.ok((await alma.tokens.list()).some((each) => each.name === "for-iris"));
    await alma.tokens.revoke("for-iris");
    await assert.rejects(iris.retrieve({ query: TASK }), { code: "AUTH" });

    const made = await alma.webhooks.add({ url: "https://hooks.example.com/alma", events: ["memory.created"], maxRetries: 3 });
    assert.match(made.secret, /^whsec_/);
    assert.notEqual((await alma.webhooks.rotateSecret(made.id)).secret, made.secret);
    assert.equal((await alma.webhooks.change(made.id, { isEnabled: false })).state, "disabled");
    assert.deepEqual((await alma.webhooks.list()).map((each) => [each.id, each.secret]), [[made.id, null]]);
    assert.deepEqual(await alma.webhooks.deliveries(made.id, { limit: 5 }), []);
    await alma.webhooks.replay(made.id, "0");
    await alma.webhooks.remove(made.id);
    await assert.rejects(alma.webhooks.get(made.id), (error) => isNotFoundError(error) && error.resourceType === "webhook" && error.resourceId === made.id);
  });

  it("request reaches routes without a method", async () => {
    assert.deepEqual((await alma.request("GET", "kinds")).registered, {});
    assert.equal((await alma.request("GET", "/v1/whoami")).name, "all");
  });

  it("a client of a project that the token is not bound to is refused", async () => {
    const { secret } = await alma.tokens.create({ name: "shop-only", projects: ["shop"], rights: ["read"] });
    const of = (projectId) => createClient({ baseUrl: server.baseUrl, token: secret, projectId });
    await assert.rejects(of("bank").stats(), { code: "SCOPE_VIOLATION" });
    await assert.rejects(of("bank/../shop").stats(), { code: "SCOPE_VIOLATION" });
    for (const projectId of ["", ".", ".."]) await assert.rejects(of(projectId).stats(), { code: "VALIDATION_ERROR", field: "projectId" });
    await assert.rejects(of("shop").history(".."), { code: "VALIDATION_ERROR", field: "id" });
    assert.equal(createClient({ ...server.config, projectId: "shop" }).projectId, "shop");
  });
});
