import { headline, type Memory, particulars } from "./words.js";

/** Answers of the API, by address, that `alma report` and `alma ui --export` write into the page. */
interface Snapshot {
  made_at: string;
  version: string;
  project: string;
  answers: Record<string, unknown>;
}

export const snapshot = (globalThis as { ALMA_SNAPSHOT?: Snapshot }).ALMA_SNAPSHOT;
export const isSnapshot = snapshot !== undefined;

const PROBLEM = { type: "about:blank", instance: "", request_id: "" };
type List = { memories: Memory[]; total?: number };

/** Answers a request of the client from the snapshot, as the server would. */
export const snapshotFetch: typeof fetch = async (address) => {
  const url = new URL(String(address));
  const path = decodeURIComponent(url.pathname).replace(/^\/v1\/(projects\/[^/]+\/)?/, "");
  const answer = answerTo(path, url.searchParams);
  if (answer !== undefined) return Response.json(answer);
  const title = "Not in this snapshot";
  const detail = "This file holds what could be read without a question to the server. Run `alma ui` for the rest.";
  return Response.json({ ...PROBLEM, title, status: 404, detail }, { status: 404 });
};

function answerTo(path: string, query: URLSearchParams): unknown {
  const { answers, project } = snapshot!;
  if (path === "projects") return { names: [project] };
  if (path === "stats") return stats(query.get("agent"));
  if (path === "memories") return list(query);
  if (path === "retrieve") return undefined;
  if (path === "review/pairs") return { pairs: [], total: 0 }; // they need a server
  if (path === "review") return review(query.get("agent"));
  if (path === "timeline") return answers[query.get("agent") ? `timeline?agent=${query.get("agent")}` : "timeline"];
  if (path === "strategies") return answers[`strategies?agent=${query.get("agent")}&limit=1000`]; // of all tasks: a snapshot cannot compare texts
  if (path === "journal") return journal(Number(query.get("after")), Number(query.get("limit")));
  const [, id, part] = /^memories\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
  if (id && !part) return all().find((each) => each.id === id);
  if (id && part) return answers[`memories/${id}/${part}`] ?? (part === "history" ? [] : undefined);
  return answers[path];
}

function review(agent: string | null): unknown {
  type Items = { episode: { agent: string } }[];
  const found = answersOf<{ unjudged: Items; surprising: Items }>("review?limit=200");
  if (!found || !agent) return found;
  const [unjudged, surprising] = [found.unjudged, found.surprising].map((items) => items.filter((item) => item.episode.agent === agent)) as [Items, Items];
  return { unjudged, surprising, unjudged_count: unjudged.length, surprising_count: surprising.length };
}

const answersOf = <Answer>(key: string) => snapshot!.answers[key] as Answer | undefined;

function all(): Memory[] {
  const of = (key: string) => answersOf<List>(key)?.memories ?? [];
  return [...of("memories"), ...of("memories?status=quarantined")];
}

function stats(agent: string | null): unknown {
  const found = answersOf<{ by_agent: Record<string, Record<string, number>> }>("stats")!;
  if (!agent) return found;
  const by_kind = found.by_agent[agent] ?? {};
  return { ...found, by_kind, total: Object.values(by_kind).reduce((sum, each) => sum + each, 0), by_agent: { [agent]: by_kind } };
}

/** Lists as the server does: filtered, newest or oldest first, a page at a time; the cursor is a number. */
function list(query: URLSearchParams): unknown {
  const status = query.get("status");
  const found = answersOf<List>(status && status !== "active" ? `memories?status=${status}` : "memories");
  const words = (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const [kind, agent, user, since] = ["kind", "agent", "user_id", "since"].map((name) => query.get(name));
  const kept = (found?.memories ?? []).filter((each) => {
    const text = [headline(each), ...particulars(each).map(([, value]) => value)].join("\n").toLowerCase();
    return (
      (!kind || each.kind === kind) &&
      (!agent || each.agent === agent) &&
      (!user || each.user_id === user) &&
      (!since || each.created_at >= since) &&
      words.every((word) => text.includes(word))
    );
  });
  const ordered = query.get("order") === "oldest" ? kept.toReversed() : kept;
  const from = Number(query.get("cursor") ?? 0);
  const to = from + Number(query.get("limit") ?? 50);
  const isWhole = !kind && !agent && !user && !since && !words.length;
  return {
    memories: ordered.slice(from, to),
    next: to < ordered.length ? String(to) : null,
    total: (isWhole && found?.total) || ordered.length,
  };
}

function journal(after: number, limit: number): unknown {
  const { records, head } = answersOf<{ records: { seq: number }[]; head: number }>("journal")!;
  return { records: records.filter((each) => each.seq > after).slice(0, limit), head, after: null };
}
