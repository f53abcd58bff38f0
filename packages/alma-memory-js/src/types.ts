import type { components } from "./schema.js";

/** Bodies and answers of the HTTP API, by their names in its OpenAPI document. */
export type Schemas = components["schemas"];

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name;

/** Arguments for a body of the HTTP API: its fields in camelCase. */
export type Arguments<Body> = { [Name in keyof Body as Camel<Name & string>]: Body[Name] | OptionalOf<Body, Name> };
type OptionalOf<Body, Name extends keyof Body> = undefined extends Body[Name] ? undefined : never;

/** Answer of the HTTP API: every field is there. */
export type Answer<Body> = Body extends readonly (infer Item)[]
  ? Answer<Item>[]
  : Body extends object
    ? { [Name in keyof Body]-?: Answer<Body[Name]> }
    : Body;

/** Parameters of an address. */
export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

/** Fields that hold JSON. */
export type JsonObject = Record<string, unknown>;

/** What every call takes besides. */
export interface CallOptions {
  /** Ends the call, which rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** Time in milliseconds for the call, all tries together. */
  timeout?: number | undefined;
  /** Name of a write: sent again, also by another process within a day, it is carried out once. By default a new one for each call. */
  idempotencyKey?: string | undefined;
}

/** Tries after the first one. */
export interface RetryConfig {
  /** Number at most. By default 3 for a read, and for a write as many as there is time for. */
  maxRetries?: number | undefined;
  /** Longest pause before the first of them, in milliseconds. It doubles with each. By default 1,000. */
  baseDelay?: number | undefined;
  /** Longest pause at all, in milliseconds. By default 10,000. */
  maxDelay?: number | undefined;
}

/** Where the memory is, and who asks. */
export interface ALMAConfig {
  /** Address of `alma serve`. By default `http://127.0.0.1:8765`. */
  baseUrl?: string | undefined;
  /** Project. By default the one that the token is bound to, else the one of the server's configuration. */
  projectId?: string | undefined;
  /**
   * Secret of `alma token create`, or a function that returns it, which is asked once a call, before its first try. By default the variable `ALMA_TOKEN`.
   * Over http it is sent to this machine only.
   */
  token?: string | (() => string | Promise<string>) | undefined;
  /** Agent of the calls that name none. A token that is bound to an agent needs none. */
  agent?: string | undefined;
  /** User of the calls that name none. */
  userId?: string | undefined;
  /** Time in milliseconds for a call, all tries together. By default 30,000 for a read and 60,000 for a write. */
  timeout?: number | undefined;
  /** Headers of every request. */
  headers?: Record<string, string> | undefined;
  retry?: RetryConfig | undefined;
  /** Function that sends requests. By default the global one. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Log for notices: that the server is not there and is tried again. By default the console. */
  logger?: { warn(line: string): void } | undefined;
}

/** As alma-memory published it for a memory inside the program. The memory is that of the server at `baseUrl`; `storage` and `embeddingProvider` are those of the server. */
export interface EmbeddedConfig extends ALMAConfig {
  storage?: unknown;
  embeddingProvider?: unknown;
}

export type Heuristic = Answer<Schemas["Heuristic"]> & { readonly success_rate: number };
export type Outcome = Answer<Schemas["Outcome"]> & { readonly success: boolean };
export type UserPreference = Answer<Schemas["UserPreference"]>;
export type DomainKnowledge = Answer<Schemas["DomainKnowledge"]>;
export type AntiPattern = Answer<Schemas["AntiPattern"]>;
export type Conversation = Answer<Schemas["Conversation"]>;
export type CustomMemory = Answer<Schemas["CustomMemory"]>;
export type Memory = Heuristic | Outcome | UserPreference | DomainKnowledge | AntiPattern | Conversation | CustomMemory;
export type MemoryType = Schemas["MemoryType"];
export type Verdict = Schemas["Verdict"] | boolean;

/** Memory that was found, with the tag by which notes cite it. */
export interface Found {
  tag: string;
  score: number;
  memory: Memory;
}

/** Memories that were found, by kind. */
export interface MemorySlice {
  heuristics: Heuristic[];
  outcomes: Outcome[];
  preferences: UserPreference[];
  domain_knowledge: DomainKnowledge[];
  anti_patterns: AntiPattern[];
  conversations: Conversation[];
  /** Memories of the project's own kinds. */
  others: CustomMemory[];
  query: string;
  /** Agent that the call named; empty where only the token has one. */
  agent: string;
  retrieval_time_ms: number;
  total_items: number;
}

/** What an agent may learn and share. The server's configuration has it. */
export interface MemoryScope {
  agent_name: string;
  can_learn: string[];
  cannot_learn: string[];
  share_with?: string[];
  inherit_from?: string[];
  min_occurrences_for_heuristic?: number;
}

export interface RetrieveOptions extends Omit<Arguments<Schemas["Retrieve"]>, "query" | "task">, CallOptions {
  /** Description of the task. `task` is another name of it. */
  query?: string | null | undefined;
  task?: string | null | undefined;
  /** Lowest confidence of a memory that is returned, 0 to 1. */
  minConfidence?: number | undefined;
}

export interface LearnOptions extends Arguments<Schemas["Learn"]>, CallOptions {
  /** Another spelling of `strategyUsed`. */
  strategy_used?: string | null | undefined;
}
export type LearnItem = Arguments<Schemas["Learn"]>;
export type AddPreferenceOptions = Omit<Arguments<Schemas["AddPreference"]>, "kind"> & CallOptions;
export type AddKnowledgeOptions = Omit<Arguments<Schemas["AddKnowledge"]>, "kind"> & CallOptions;
export type AddAntiPatternOptions = Omit<Arguments<Schemas["AddAntiPattern"]>, "kind"> & CallOptions;
/** Memory of any kind to add; `kind` names it. One of the project's own kinds has `fields`. */
export type AddOptions = (
  | Arguments<Schemas["AddPreference"]>
  | Arguments<Schemas["AddKnowledge"]>
  | Arguments<Schemas["AddAntiPattern"]>
  | Arguments<Schemas["AddHeuristic"]>
  | Arguments<Schemas["AddConversation"]>
  | Arguments<Schemas["AddOwn"]>
) &
  CallOptions;

export interface ForgetOptions extends Arguments<Schemas["Forget"]>, CallOptions {}
export interface RecordFeedbackOptions extends Arguments<Schemas["Feedback"]> {
  /** The server knows the kind of a memory by its id. */
  memoryType?: string | undefined;
  query?: string | undefined;
}
export interface RecordUsageOptions extends Partial<Arguments<Schemas["Usage"]>>, CallOptions {
  /** Memories that were used, in place of the two lists. */
  memoryIds?: readonly string[] | undefined;
  memoryType?: string | undefined;
  query?: string | undefined;
}
export interface CheckOptions extends Arguments<Schemas["Check"]>, CallOptions {}
export interface AssessOptions extends Arguments<Schemas["Assess"]>, CallOptions {}
export interface SettleOptions extends Arguments<Schemas["Settle"]>, CallOptions {}
export interface UndoOptions extends Arguments<Schemas["Undo"]>, CallOptions {}
export interface StrategiesOptions extends CallOptions {
  task?: string | undefined;
  agent?: string | undefined;
  userId?: string | undefined;
  taskType?: string | undefined;
  among?: readonly string[] | undefined;
  explore?: boolean | undefined;
  includeSteps?: boolean | undefined;
  limit?: number | undefined;
}
/** Whom a call is for. */
export interface Who extends CallOptions {
  agent?: string | undefined;
  userId?: string | undefined;
}
export interface ListOptions extends Who {
  kind?: string | undefined;
  since?: string | Date | undefined;
  order?: "newest" | "oldest" | undefined;
}
export interface ExplainOptions extends Who {
  task: string;
  taskType?: string | undefined;
  topK?: number | undefined;
}

/** Answer to a call that alma-memory published. `error` is there for programs that read it: an error is thrown. */
export interface Response<Success extends boolean = true> {
  success: Success;
  error?: string | undefined;
}
type Retrieved = Answer<Schemas["Retrieved"]>;
export interface RetrieveResponse extends Response, Omit<Retrieved, "memories"> {
  memories: MemorySlice;
  /** The same memories, best first, with their tags. */
  found: Found[];
  /** Notes for a prompt, of at most `maxTokens`. The same as `prompt`. */
  prompt_injection: string;
}
export interface LearnResponse extends Response {
  learned: boolean;
  message: string;
  outcome: Outcome;
}
export interface AddPreferenceResponse extends Response {
  preference: UserPreference;
}
export interface AddKnowledgeResponse extends Response {
  knowledge: DomainKnowledge;
}
export interface ForgetResponse extends Response, Answer<Schemas["Forgotten"]> {
  pruned_count: number;
  message: string;
}
export interface MemoryStats extends Answer<Schemas["Counts"]> {
  total_count: number;
  heuristics_count: number;
  outcomes_count: number;
  preferences_count: number;
  domain_knowledge_count: number;
  anti_patterns_count: number;
}
export interface StatsResponse extends Response {
  stats: MemoryStats;
}
export interface HealthResponse extends Response<boolean> {
  status: "healthy" | "unhealthy";
  project_id?: string | undefined;
  total_memories?: number | undefined;
  registered_agents?: string[] | undefined;
  timestamp: string;
}

export type StrategyTable = Answer<Schemas["StrategyTable"]>;
export type StrategyRecord = Answer<Schemas["StrategyRecord"]>;
export type ActionCheck = Answer<Schemas["ActionCheck"]>;
export type Assessment = Answer<Schemas["Assessment"]>;
export type EpisodeRecord = Answer<Schemas["EpisodeRecord"]>;
export type Step = Answer<Schemas["Step"]>;
export type HistoryEntry = Answer<Schemas["HistoryEntry"]>;
export type RetrievalExplanation = Answer<Schemas["RetrievalExplanation"]>;
export type UndoReport = Answer<Schemas["UndoReport"]>;
export type EpisodeOptions = Arguments<Schemas["Begin"]> & CallOptions;
export type StepOptions = Omit<Arguments<Schemas["Act"]>, "action"> & CallOptions;
export type EndOptions = Arguments<Schemas["End"]> & CallOptions;

/** Signals about a memory. */
export const FeedbackSignal = {
  USED: "used",
  IGNORED: "ignored",
  THUMBS_UP: "thumbs_up",
  THUMBS_DOWN: "thumbs_down",
} as const satisfies Record<string, Schemas["FeedbackSignal"]>;
export type FeedbackSignal = (typeof FeedbackSignal)[keyof typeof FeedbackSignal];
