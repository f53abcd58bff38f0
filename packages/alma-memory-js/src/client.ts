import { segment, snake, split } from "./arguments.js";
import { Episode } from "./episode.js";
import { NotFoundError, ValidationError } from "./errors.js";
import { type EventOptions, EventStream } from "./events.js";
import { Tokens, Webhooks } from "./managing.js";
import { memory, retrieved } from "./memories.js";
import { type Ask, Transport } from "./transport.js";
import type * as T from "./types.js";
import type * as W from "./workflow-types.js";
import * as workflows from "./workflows.js";

type Schemas = T.Schemas;

/**
 * Client of a memory that `alma serve` holds.
 *
 * Before a task `retrieve`, after it `learn`. A method rejects with an `ALMAError`, or with the reason of its `signal`. A write is carried
 * out once, however often it has to be sent.
 */
export class ALMA {
  /** Receivers of events. */
  readonly webhooks: Webhooks;
  /** Tokens of the server. */
  readonly tokens: Tokens;
  private readonly to: Transport;

  constructor(config: T.ALMAConfig | T.EmbeddedConfig = {}) {
    const { storage, embeddingProvider, ...known } = config as T.EmbeddedConfig;
    this.to = new Transport(known);
    this.webhooks = new Webhooks(this.to);
    this.tokens = new Tokens(this.to);
    if (storage !== undefined || embeddingProvider !== undefined) {
      this.to.warn(`storage and embeddingProvider are ignored: the server has its own`);
    }
  }

  /** Project of the calls. `undefined` for the one that the token is bound to. */
  get projectId(): string | undefined {
    return this.to.config.projectId;
  }

  /** Returns a client whose calls are an agent's, where they name none. */
  withAgent(agent: string): ALMA {
    return new ALMA({ ...this.to.config, agent });
  }

  /** Returns a client whose calls are for a user, where they name none. */
  withUser(userId: string): ALMA {
    return new ALMA({ ...this.to.config, userId });
  }

  // Before a task

  /** Returns what matters for a task, and notes for a prompt of at most `maxTokens`, by default 2,000. */
  async retrieve(options: T.RetrieveOptions): Promise<T.RetrieveResponse> {
    const { minConfidence, ...given } = options;
    const answer = await this.post<T.Answer<Schemas["Retrieved"]>>("retrieve", given, { isWrite: false });
    return retrieved(answer, { query: given.query ?? given.task, agent: given.agent ?? this.to.config.agent, minConfidence });
  }

  /** Returns the known reasons against an action. An answer without warnings is no permission. */
  async check(action: string | T.CheckOptions, options: Omit<T.CheckOptions, "action"> = {}): Promise<T.ActionCheck> {
    const given = typeof action === "string" ? { ...options, action } : action;
    return this.post("check", given, { isWrite: false });
  }

  /** Returns how likely a strategy is to succeed at a task, with the interval of that rate at 95 %. */
  async assess(options: T.AssessOptions): Promise<T.Assessment> {
    return this.post("assess", options, { isWrite: false });
  }

  /** Returns the record of the strategies tried for such tasks, the highest expected rate of success first. */
  async strategies(options: T.StrategiesOptions = {}): Promise<T.StrategyTable> {
    return this.read("strategies", options);
  }

  // After a task

  /** Stores the outcome of a task. */
  async learn(options: T.LearnOptions): Promise<T.LearnResponse> {
    const outcome = memory(await this.post<T.Outcome>("learn", options)) as T.Outcome;
    return { success: true, learned: true, message: "Outcome recorded", outcome };
  }

  /** Stores 1 to 1,000 outcomes in one transaction, all or none. */
  async learnMany(items: readonly T.LearnItem[], options: T.CallOptions = {}): Promise<T.Outcome[]> {
    const body = { items: items.map((each) => this.scoped(each)) };
    const { outcomes } = await this.to.json<{ outcomes: T.Outcome[] }>({ ...options, method: "POST", path: "learn:batch", body });
    return outcomes.map((each) => memory(each) as T.Outcome);
  }

  /** Counts which of the memories shown were used, and returns the ids of those counted. Ids that the agent cannot see are left out. */
  async recordUsage(options: T.RecordUsageOptions): Promise<string[]> {
    const { memoryIds, memoryType: _, query: __, ...given } = options;
    const ids = memoryIds && { retrievedMemoryIds: memoryIds, usedMemoryIds: memoryIds };
    const counted = await this.post<T.Answer<Schemas["UsageReport"]>>("usage", { ...given, ...ids });
    return [...counted.used, ...counted.ignored, ...counted.neutral];
  }

  /** Counts a signal about a memory, and returns the memory's id. `NotFoundError` if the agent cannot see it. */
  async recordFeedback(options: T.RecordFeedbackOptions, call: T.CallOptions = {}): Promise<string> {
    const { memoryType: _, query: __, ...fields } = options;
    const body = this.scoped(fields);
    const { counted } = await this.to.json<Schemas["FeedbackReport"]>({ ...call, method: "POST", path: "feedback", body });
    if (!counted[0]) throw new NotFoundError("there is no such memory that the agent can see", "memory", options.memoryId);
    return counted[0];
  }

  /** Sets or corrects the verdict of an episode that has ended, or of all of a run. Returns those episodes. */
  async settle(options: T.SettleOptions): Promise<T.EpisodeRecord[]> {
    return (await this.post<{ episodes: T.EpisodeRecord[] }>("settle", options)).episodes;
  }

  /** Begins an attempt at a task, with the notes to show. */
  async episode(options: T.EpisodeOptions): Promise<Episode> {
    return new Episode(this.to, await this.post("episodes", options));
  }

  // Memories

  /** Adds a memory of the kind that `kind` names. */
  async add(options: T.AddOptions): Promise<T.Memory> {
    return memory(await this.post<T.Memory>("memories", options));
  }

  /** Adds a preference of a user. */
  async addPreference(options: T.AddPreferenceOptions): Promise<T.AddPreferenceResponse> {
    return { success: true, preference: (await this.add({ ...options, kind: "user_preference" })) as T.UserPreference };
  }

  /** Adds a fact. */
  async addKnowledge(options: T.AddKnowledgeOptions): Promise<T.AddKnowledgeResponse> {
    return { success: true, knowledge: (await this.add({ ...options, kind: "domain_knowledge" })) as T.DomainKnowledge };
  }

  /** Adds a warning. */
  async addAntiPattern(options: T.AddAntiPatternOptions): Promise<T.AntiPattern> {
    return (await this.add({ ...options, kind: "anti_pattern" })) as T.AntiPattern;
  }

  /** Returns a memory. `NotFoundError` if there is none that may be read. */
  async get(id: string, who: T.Who = {}): Promise<T.Memory> {
    return memory(await this.read<T.Memory>(at(id), who));
  }

  /** Yields memories by the time they were made, page after page. Going through all of them is quickest with the oldest first. */
  async *list(options: T.ListOptions = {}): AsyncGenerator<T.Memory, void, undefined> {
    const since = options.since instanceof Date ? options.since.toISOString() : options.since;
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.read<{ memories: T.Memory[]; next: string | null }>("memories", { ...options, since, cursor, limit: 200 });
      yield* page.memories.map(memory);
      cursor = page.next;
    }
  }

  /** Returns what every call did to a memory, oldest first. */
  async history(id: string, who: T.Who = {}): Promise<T.HistoryEntry[]> {
    return this.read(`${at(id)}/history`, who);
  }

  /** Explains why a memory is returned for a task, or the first filter that excludes it. */
  async explain(id: string, options: T.ExplainOptions): Promise<T.RetrievalExplanation> {
    return this.read(`${at(id)}/explain`, options);
  }

  // Forgetting, counts

  /**
   * Archives stale memories, by default outcomes older than 90 days and rules with a confidence below 0.3; or memories by their ids.
   *
   * `undo` brings them back. With `purge`, memories by id are erased for good. With `dryRun` it only reports what it would do.
   */
  async forget(options: T.ForgetOptions = {}): Promise<T.ForgetResponse> {
    if ("memoryIds" in options && !options.memoryIds) throw new ValidationError("memoryIds is missing", "memoryIds");
    const named = options.memoryIds ?? options.olderThanDays ?? options.belowConfidence;
    const limits = named == null && { olderThanDays: 90, belowConfidence: 0.3 };
    const done = await this.post<T.Answer<Schemas["Forgotten"]>>("forget", { dryRun: false, ...limits, ...options });
    const did = done.dry_run ? "Would forget" : "Forgot";
    return { success: true, pruned_count: done.total, message: `${did} ${done.total} memories`, ...done };
  }

  /** Reverses what was done after a journal record. By default it only reports what it would do: pass `dryRun: false`. */
  async undo(options: T.UndoOptions): Promise<T.UndoReport> {
    const [call, fields] = split(options);
    return this.to.json({ ...call, method: "POST", path: "undo", body: snake({ actor: this.to.config.agent, ...fields }) });
  }

  /** Returns the content of the project, or of one agent in it, in numbers. */
  async stats(agent?: string, options: T.CallOptions = {}): Promise<T.StatsResponse> {
    const found = await this.read<T.Answer<Schemas["Counts"]>>("stats", { ...options, agent });
    const count = (kind: Schemas["MemoryType"]) => (found.by_kind as Record<string, number>)[kind] ?? 0;
    const stats = {
      ...found,
      total_count: found.total,
      heuristics_count: count("heuristic"),
      outcomes_count: count("outcome"),
      preferences_count: count("user_preference"),
      domain_knowledge_count: count("domain_knowledge"),
      anti_patterns_count: count("anti_pattern"),
    };
    return { success: true, stats };
  }

  /** Returns whether the server is there and this client may read. It asks once, and does not reject but for the signal. */
  async health(options: T.CallOptions = {}): Promise<T.HealthResponse> {
    const timestamp = new Date().toISOString();
    try {
      await this.request("GET", "/health/ready", { ...options, retries: 0 });
      const [stats, agents] = await Promise.all([
        this.request<T.Answer<Schemas["Counts"]>>("GET", "stats", { ...options, retries: 0 }),
        this.request<{ names: string[] }>("GET", "agents", { ...options, retries: 0 }),
      ]);
      const { project_id, total } = stats;
      return { success: true, status: "healthy", project_id, total_memories: total, registered_agents: agents.names, timestamp };
    } catch (error) {
      options.signal?.throwIfAborted();
      return { success: false, status: "unhealthy", timestamp, error: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Returns the events of the project as they happen, or with `follow: false` those that there are. It survives restarts of the server. */
  events(options: EventOptions = {}): EventStream {
    return new EventStream(this.to, options);
  }

  // Workflows

  /** Stores the state of a workflow. One that is equal to the newest of its branch is not stored again. */
  async checkpoint(options: W.CheckpointOptions): Promise<W.CheckpointResponse> {
    return workflows.checkpoint(this.to, options);
  }

  /** Returns the newest checkpoint of a workflow, or of a branch, a node or a name of it. */
  async resume(options: W.ResumeOptions): Promise<W.ResumeResponse> {
    return workflows.resume(this.to, options);
  }

  /** Returns one state made of several. Stores nothing. */
  async mergeStates(options: W.MergeStatesOptions): Promise<W.MergeStatesResponse> {
    return workflows.mergeStates(this.to, options);
  }

  /** Stores the outcome of a whole workflow. */
  async workflowLearn(options: W.WorkflowLearnOptions): Promise<W.WorkflowLearnResponse> {
    return workflows.workflowLearn(this.to, options);
  }

  /** Records a product of a workflow. The same type and reference again replaces the record. */
  async linkArtifact(options: W.LinkArtifactOptions): Promise<W.LinkArtifactResponse> {
    return workflows.linkArtifact(this.to, options);
  }

  /** Returns the products of a workflow, oldest first. */
  async getArtifacts(options: W.GetArtifactsOptions): Promise<W.GetArtifactsResponse> {
    return workflows.getArtifacts(this.to, options);
  }

  /** Erases old checkpoints for good: of one workflow, or of all. The newest of each branch stay. */
  async cleanupCheckpoints(options: W.CleanupCheckpointsOptions = {}): Promise<W.CleanupCheckpointsResponse> {
    return workflows.cleanupCheckpoints(this.to, options);
  }

  /** Returns what matters for a step: of its workflow, of the agent, or of all that the agent may read. */
  async retrieveScoped(options: W.RetrieveScopedOptions): Promise<W.RetrieveScopedResponse> {
    const [call] = split(options);
    const found = await this.to.json<T.Answer<Schemas["Retrieved"]>>({
      ...call,
      ...workflows.scopedSearch(this.to, options),
      method: "POST",
      isWrite: false,
    });
    return { ...retrieved(found, { ...options, agent: options.agent ?? this.to.config.agent }), scope: options.scope };
  }

  /** Merges memories of an agent that say the same; unless `dryRun` is false it only tells which. `undo` takes it back. */
  async consolidate(options: W.ConsolidateOptions = {}): Promise<W.ConsolidateResponse> {
    const { agent = this.to.config.agent, similarityThreshold: threshold, dryRun: dry_run } = options;
    const [call] = split(options);
    const body = { agent, threshold, dry_run };
    const found = await this.to.json<T.Answer<Schemas["Consolidated"]>>({ ...call, method: "POST", path: "consolidate", body });
    return { success: true, ...found };
  }

  /**
   * Returns the answer of a route of the HTTP API, also of one that has no method here.
   *
   * `path` is that behind `/v1/projects/PROJECT/`; one that begins with a slash is that behind `baseUrl`.
   */
  async request<Answer = unknown>(method: Ask["method"], path: string, options: Omit<Ask, "method" | "path"> = {}): Promise<Answer> {
    return this.to.json<Answer>({ ...options, method, path });
  }

  private read<Answer>(path: string, options: object): Promise<Answer> {
    const [call, query] = split(options);
    return this.to.json({ ...call, method: "GET", path, query: this.scoped(query) as T.Query });
  }

  private post<Answer>(path: string, options: object, how: { isWrite?: boolean } = {}): Promise<Answer> {
    const [call, fields] = split(options);
    return this.to.json({ ...call, ...how, method: "POST", path, body: this.scoped(fields) });
  }

  /** Returns fields in snake_case, of this client's agent and user where they name none. */
  private scoped(fields: object): Record<string, unknown> {
    const { agent, userId } = this.to.config;
    const given = snake(fields);
    return { ...given, agent: given.agent ?? agent, user_id: given.user_id ?? userId };
  }
}

/** Returns a new client. */
export function createClient(config: T.ALMAConfig | T.EmbeddedConfig = {}): ALMA {
  return new ALMA(config);
}

const at = (id: string) => `memories/${segment(id, "id")}`;
