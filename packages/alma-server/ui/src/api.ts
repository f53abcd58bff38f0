import { computed } from "@preact/signals";
import { ALMA, isAuthError } from "../../../alma-memory-js/src/index.js";
import type * as T from "../../../alma-memory-js/src/index.js";
import { scope } from "./router.js";
import { end, session } from "./session.js";
import { isSnapshot, snapshot, snapshotFetch } from "./snapshot.js";
import type { Memory } from "./words.js";

type Schemas = T.Schemas;
export type { Memory } from "./words.js";
export type Way = T.StrategyRecord;
export type Page = { memories: Memory[]; next: string | null; total: number | null };
export type Retrieved = Omit<T.RetrieveResponse, "found"> & { found: Found[] };
export type Token = Schemas["ShownToken"];
export type Webhook = Schemas["ShownWebhook"];
export type Delivery = Schemas["ShownDelivery"];
export type JournalLine = Schemas["JournalLine"];
export type Stats = T.Answer<Schemas["Counts"]>;
export type Forgotten = T.Answer<Schemas["Forgotten"]>;

/** Memory that was found, with the numbers of its rank. */
export interface Found extends Omit<T.Found, "memory"> {
  memory: Memory;
  factors: Factors;
  explanation: { words: string[]; folded: string[] } | null;
}

/** Numbers of 0 to 1 whose weighted sum, times the usefulness, is the score. */
export interface Factors {
  similarity: number;
  recency: number;
  success: number;
  confidence: number;
  usefulness: number;
  weights: Record<string, number>;
}

export interface Entity extends Omit<Schemas["EntityAnswer"], "properties"> {
  properties: { aliases?: string[] };
}

/** Relation of two entities: the names of both ends, and the ids of the memories behind it. */
export interface Relation extends Omit<T.Answer<Schemas["RelationAnswer"]>, "properties"> {
  properties: { source: string; target: string; evidence: string[] };
}

export interface ReviewItem {
  episode: T.EpisodeRecord;
  forecast: { rate: number; lower: number; upper: number; judged: number } | null;
}

/** Two memories that may say the same. `survivor` is the id of the one that a merge would keep. */
export type UnsurePair = Omit<Schemas["UnsurePair"], "memories"> & { memories: Memory[] };
export type UnsurePairs = { pairs: UnsurePair[]; total: number };

export interface ReviewQueue {
  unjudged: ReviewItem[];
  surprising: ReviewItem[];
  unjudged_count: number;
  surprising_count: number;
}

export interface Day {
  day: string;
  by_kind: Record<string, number>;
  judged: number;
  successes: number;
  interval: { lower: number; upper: number } | null;
  formed: number;
}

export interface Verified {
  problems: Record<string, unknown>[];
  records: number;
}

export interface ListFilter {
  kind?: string | undefined;
  q?: string | undefined;
  status?: string | undefined;
  since?: string | undefined;
  order?: string | undefined;
  cursor?: string | undefined;
}

/** True where nothing can be changed: the page is a file without a server. */
export const isReadOnly = isSnapshot;

/** `ETag` of each memory as it was last read: an edit names it, so that it changes what its author saw. */
const etags = new Map<string, string>();

async function send(...[url, init]: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(url, { ...init, credentials: "omit", cache: "no-store" });
  const id = init?.method === "GET" && /\/memories\/([^/?]+)(\?|$)/.exec(String(url))?.[1];
  const etag = response.headers.get("etag");
  if (id && etag) etags.set(decodeURIComponent(id), etag);
  return response;
}

const client = computed(
  () =>
    new ALMA({
      baseUrl: isSnapshot ? "http://127.0.0.1" : new URL("..", document.baseURI).href,
      projectId: scope.value.project,
      token: session.value?.token ?? "",
      fetch: isSnapshot ? snapshotFetch : send,
      timeout: 30_000,
      retry: { maxRetries: 1, baseDelay: 400 },
      logger: { warn: () => undefined },
    }),
);

/** Calls the server; a token that it does not know ends the session. */
async function call<Answer>(ask: (client: ALMA) => Promise<Answer>): Promise<Answer> {
  try {
    return await ask(client.value);
  } catch (error) {
    if (isAuthError(error) && !isSnapshot) end(error.message);
    throw error;
  }
}

const who = () => ({ agent: scope.value.agent, user_id: scope.value.user });
const read = <Answer>(path: string, query: T.Query = {}, signal?: AbortSignal) =>
  call((to) => to.request<Answer>("GET", path, { query, signal }));
const write = <Answer>(method: "POST" | "PATCH" | "DELETE", path: string, body?: object, headers?: Record<string, string>) =>
  call((to) => to.request<Answer>(method, path, { body, headers }));
const at = (id: string, part = "") => `memories/${encodeURIComponent(id)}${part}`;

// Reads

export const stats = (signal?: AbortSignal) => read<Stats>("stats", { agent: scope.value.agent }, signal);
export const names = async (sort: "agents" | "users", signal?: AbortSignal) => (await read<{ names: string[] }>(sort, {}, signal)).names;
export const projects = async (signal?: AbortSignal) => (await read<{ names: string[] }>("/v1/projects", {}, signal)).names;
/** Returns the project of addresses that name none: the server's own, else the first that the token reaches. */
export async function homeProject(signal?: AbortSignal): Promise<string> {
  const project = snapshot?.project ?? (await whoami(signal)).project ?? (await projects(signal))[0];
  if (project === undefined) throw new Error("This token reaches no project that exists.");
  return project;
}
export const kinds = (signal?: AbortSignal) => read<T.Answer<Schemas["Kinds"]>>("kinds", {}, signal);
export const list = (filter: ListFilter, limit: number, signal?: AbortSignal) =>
  read<Page>("memories", { ...who(), ...filter, limit }, signal);

/** Returns the number of memories of a whole list: from the counts of the project where those have it, as the server goes through all others. */
export async function total({ cursor: _, order: __, ...filter }: ListFilter, signal?: AbortSignal): Promise<number> {
  const { kind, ...rest } = filter;
  if (!Object.keys(rest).length && !scope.value.user) {
    const counts = await stats(signal);
    return kind ? (counts.by_kind[kind] ?? 0) : counts.total;
  }
  return (await read<Page>("memories", { ...who(), ...filter, limit: 1, count: "exact" }, signal)).total ?? 0;
}

export const memory = (id: string, signal?: AbortSignal) => read<Memory>(at(id), who(), signal);
export const history = (id: string, signal?: AbortSignal) => read<T.HistoryEntry[]>(at(id, "/history"), who(), signal);
export const provenance = (id: string, signal?: AbortSignal) =>
  read<T.Answer<Schemas["MemoryProvenance"]>>(at(id, "/provenance"), who(), signal);
export const evidence = async (id: string, limit: number, signal?: AbortSignal) =>
  (await read<{ outcomes: Memory[] }>(at(id, "/evidence"), { ...who(), limit }, signal)).outcomes;
export const episode = (id: string, signal?: AbortSignal) =>
  read<T.EpisodeRecord>(`episodes/${encodeURIComponent(id)}`, who(), signal);
export const review = (signal?: AbortSignal) => read<ReviewQueue>("review", { agent: scope.value.agent, limit: 200 }, signal);
export const pairs = (signal?: AbortSignal) => read<UnsurePairs>("review/pairs", { agent: scope.value.agent, limit: 20 }, signal);
export const timeline = async (signal?: AbortSignal) => (await read<{ days: Day[] }>("timeline", { agent: scope.value.agent }, signal)).days;
export const journal = (after: number, limit: number, signal?: AbortSignal) =>
  read<T.Answer<Schemas["Journal"]>>("journal", { after, limit }, signal);
export const hasGraph = async (signal?: AbortSignal) => (await read<Schemas["GraphState"]>("graph", who(), signal)).available;
export const entities = async (words: string, limit: number, signal?: AbortSignal) =>
  (await read<{ entities: Entity[] }>("graph/entities", { ...who(), words, limit }, signal)).entities;
export const entity = (name: string, signal?: AbortSignal) => read<Entity>("graph/entity", { ...who(), name }, signal);
/** Returns the relations that held at a time, newest first; those that hold now without one. */
export const relations = async (id: string, asOf?: string, signal?: AbortSignal) =>
  (await read<{ relations: Relation[] }>("graph/relations", { ...who(), entity: id, as_of: asOf }, signal)).relations;
/** Returns all relations of an entity, past and present, newest first. */
export const allRelations = async (id: string, signal?: AbortSignal) =>
  (await read<{ relations: Relation[] }>("graph/timeline", { ...who(), entity: id }, signal)).relations.toReversed();
export const whoami = (signal?: AbortSignal) => read<Schemas["WhoAmI"]>("/v1/whoami", {}, signal);
export const version = (signal?: AbortSignal) => read<Schemas["Version"]>("/version", {}, signal);
export const ready = (signal?: AbortSignal) => read<Schemas["Status"]>("/health/ready", {}, signal);
export const verify = (signal?: AbortSignal) => read<Verified>("/v1/verify", {}, signal);
export const tokens = (signal?: AbortSignal) => call((to) => to.tokens.list({ signal }));
export const webhooks = (signal?: AbortSignal) => call((to) => to.webhooks.list({ signal }));
export const deliveries = (id: string, signal?: AbortSignal) => call((to) => to.webhooks.deliveries(id, { limit: 50, signal }));
export const events = (options: T.EventOptions) => client.value.events(options);

/** Number of the newest journal record. */
export async function head(signal?: AbortSignal): Promise<number> {
  return (await journal(0, 1, signal)).head;
}

export async function quarantined(signal?: AbortSignal): Promise<Memory[]> {
  return (await read<{ memories: Memory[] }>("quarantine", { limit: 200 }, signal)).memories;
}

export const explain = (id: string, agent: string, task: string, signal?: AbortSignal) =>
  read<T.RetrievalExplanation>(at(id, "/explain"), { agent, user_id: scope.value.user, task }, signal);

export async function retrieve(agent: string, task: string, signal?: AbortSignal): Promise<Retrieved> {
  const body = { agent, user_id: scope.value.user, task, top_k: 10, explain: true };
  const { memories, ...rest } = await call((to) =>
    to.request<Omit<Retrieved, "found" | "memories"> & { memories: Found[] }>("POST", "retrieve", { body, signal, isWrite: false }),
  );
  return { ...rest, found: memories } as Retrieved;
}

export const strategies = (agent: string, { task, type, limit }: { task?: string; type?: string; limit: number }, signal?: AbortSignal) =>
  read<T.StrategyTable>("strategies", { agent, user_id: scope.value.user, task: task || undefined, task_type: type || undefined, limit }, signal);
export const check = (agent: string, action: string, task: string, signal?: AbortSignal) =>
  call((to) => to.check({ agent, userId: scope.value.user ?? null, action, task: task || null, signal }));
export const assess = (agent: string, context: string, strategy: string, signal?: AbortSignal) =>
  call((to) => to.assess({ agent, userId: scope.value.user ?? null, context, strategy, signal }));

// Acts

export const forget = (ids: string[], options: { purge?: boolean; isDry: boolean; confirmation?: string | null }) =>
  write<Forgotten>("POST", "forget", {
    ...who(),
    memory_ids: ids,
    purge: options.purge ?? false,
    dry_run: options.isDry,
    ...(options.confirmation && { confirmation: options.confirmation }),
  });
export const undo = (to: number, options: { isDry: boolean; head?: number; actor?: string | undefined }) =>
  write<T.UndoReport>("POST", "undo", { to, dry_run: options.isDry, expected_head: options.head ?? null, actor: options.actor ?? null });
export const release = (ids: string[]) => write<{ memory_ids: string[] }>("POST", "quarantine:release", { memory_ids: ids });
export const edit = (id: string, changes: object) => {
  const etag = etags.get(id);
  return write<Memory>("PATCH", `${at(id)}?${new URLSearchParams(present(who()))}`, changes, etag ? { "If-Match": etag } : undefined);
};
export const signal = (id: string, agent: string, given: T.FeedbackSignal) =>
  call((to) => to.recordFeedback({ memoryId: id, agent, userId: scope.value.user ?? null, signal: given }));
export const settle = (agent: string, episodeId: string, outcome: "success" | "failure" | "partial" | "unverified") =>
  call((to) => to.settle({ agent, userId: scope.value.user ?? null, episodeId, outcome }));
export const judgePair = async (ids: string[], verdict: "merge" | "keep") =>
  (await write<{ seq: number }>("POST", "review/pairs:judge", { memory_ids: ids, verdict })).seq;
export const createToken = (options: T.CreateTokenOptions) => call((to) => to.tokens.create(options));
export const revokeToken = (name: string) => call((to) => to.tokens.revoke(name));
export const addWebhook = (url: string) => call((to) => to.webhooks.add({ url } as T.AddWebhookOptions));
export const switchWebhook = (id: string, isEnabled: boolean) => call((to) => to.webhooks.change(id, { isEnabled } as T.ChangeWebhookOptions));
export const removeWebhook = (id: string) => call((to) => to.webhooks.remove(id));
export const testWebhook = (id: string) => call((to) => to.webhooks.test(id));
export const rotateSecret = (id: string) => call((to) => to.webhooks.rotateSecret(id));
export const retryDelivery = (id: string, position: string) => call((to) => to.webhooks.retry(id, position));
export const replay = (id: string, since: string) => call((to) => to.webhooks.replay(id, since));

function present(fields: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** What a snapshot says of itself, `undefined` on a server. */
export const made = snapshot && { at: snapshot.made_at, version: snapshot.version };
