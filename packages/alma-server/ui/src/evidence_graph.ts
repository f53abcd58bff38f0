import * as api from "./api.js";
import { headline, taskOf } from "./words.js";

export interface Node {
  id: string;
  kind: string;
  label: string;
  verdict: string | undefined;
  /** Steps from the middle. */
  ring: number;
  /** What its id is of: a way that has no rule yet has no memory. */
  to: "memory" | "way" | "entity";
  /** Node by which it was reached, and how the two belong together. */
  from: string | undefined;
  edge: string;
  /** Neighbours that were left out. */
  more: number;
}

const LIMIT = 200;
const OUTER = 12;

/** Returns what stands around a memory, at most two steps away and 200 nodes: outcomes, rules, what an episode was shown. The middle is first. */
export async function graphAround(id: string, signal: AbortSignal): Promise<Node[]> {
  const middle = await api.memory(id, signal);
  const table = await api.strategies(middle.agent, { task: taskOf(middle), limit: 100 }, signal).catch(() => undefined);
  const found = new Graph(middle);
  const ways = table?.rows ?? [];
  if (middle.kind === "heuristic" || middle.kind === "anti_pattern") await addBehind(found, middle, ways, signal);
  if (middle.kind === "outcome") await addBefore(found, middle, ways, signal);
  return found.nodes;
}

class Graph {
  readonly nodes: Node[] = [];
  private readonly known = new Set<string>();

  constructor(middle: api.Memory) {
    this.addMemory(middle, undefined, "", 0);
  }

  addMemory(memory: api.Memory, from: string | undefined, edge: string, ring: number): void {
    const verdict = memory.kind === "outcome" ? memory.outcome : undefined;
    this.add({ id: memory.id, kind: memory.kind, label: headline(memory), verdict, ring, to: "memory", from, edge, more: 0 });
  }

  addWay(way: api.Way, from: string, edge: string, ring: number): string {
    const rule = ruleOf(way);
    const kind = way.anti_pattern_id && !way.heuristic_id ? "anti_pattern" : "heuristic";
    const id = rule ?? way.id;
    this.add({ id, kind, label: way.strategy, verdict: undefined, ring, to: rule ? "memory" : "way", from, edge, more: 0 });
    return id;
  }

  leaveOut(parent: string, count: number): void {
    const node = this.nodes.find((each) => each.id === parent);
    if (node && count > 0) node.more += count;
  }

  private add(node: Node): void {
    if (this.known.has(node.id)) return;
    if (this.nodes.length >= LIMIT) return this.leaveOut(node.from ?? "", 1);
    this.known.add(node.id);
    this.nodes.push(node);
  }
}

const ruleOf = (way: api.Way) => way.heuristic_id ?? way.anti_pattern_id;

/** Adds the outcomes behind a rule, and the rules that share them or are named in its place. */
async function addBehind(found: Graph, rule: api.Memory, ways: api.Way[], signal: AbortSignal): Promise<void> {
  const own = ways.find((way) => way.heuristic_id === rule.id || way.anti_pattern_id === rule.id);
  const outcomes = await api.evidence(rule.id, LIMIT, signal);
  const instead = rule.kind === "anti_pattern" && ways.find((way) => way.strategy === rule.better_alternative && ruleOf(way) !== rule.id);
  if (instead) found.addWay(instead, rule.id, "instead", 1);
  for (const outcome of outcomes) found.addMemory(outcome, rule.id, "learned from", 1);
  found.leaveOut(rule.id, (own?.trials ?? 0) - outcomes.length);
  for (const outcome of outcomes) {
    for (const way of ways) if (way !== own && way.outcome_ids.includes(outcome.id)) found.addWay(way, outcome.id, "counts for", 2);
  }
}

/** Adds the rules that rest on an outcome with others behind them, and what its episode was shown. */
async function addBefore(found: Graph, outcome: api.Memory, ways: api.Way[], signal: AbortSignal): Promise<void> {
  const resting = ways.filter((way) => way.outcome_ids.includes(outcome.id));
  for (const way of resting) found.addWay(way, outcome.id, "counts for", 1);
  const origin = await api.provenance(outcome.id, signal).catch(() => undefined);
  const episode = origin?.episode_id ? await api.episode(origin.episode_id, signal).catch(() => undefined) : undefined;
  const shown = await Promise.all((episode?.shown ?? []).map((each) => api.memory(each.memory_id, signal).catch(() => undefined)));
  for (const memory of shown) if (memory) found.addMemory(memory, outcome.id, "shown before it", 1);
  for (const way of resting) {
    const rule = ruleOf(way);
    if (!rule) continue;
    const others = (await api.evidence(rule, OUTER, signal)).filter((each) => each.id !== outcome.id);
    for (const other of others) found.addMemory(other, rule, "learned from", 2);
    found.leaveOut(rule, way.trials - 1 - others.length);
  }
}
