import * as api from "./api.js";
import type { Node } from "./evidence_graph.js";

const INNER = 24;
/** Inner entities of which the relations are read, too. */
const ASKED = 12;
const OUTER = 6;

/** Returns the entities around one, at most two relations away, as of a time or now. The middle is first. */
export async function entitiesAround(middle: api.Entity, asOf: string | undefined, signal: AbortSignal): Promise<Node[]> {
  const first: Node = { id: middle.id, kind: middle.entity_type, label: middle.name, verdict: undefined, ring: 0, to: "entity", from: undefined, edge: "", more: 0 };
  const nodes = new Map([[first.id, first]]);
  add(nodes, first, await api.relations(first.id, asOf, signal), INNER);
  const inner = [...nodes.values()].slice(1, ASKED + 1);
  const beyond = await Promise.all(inner.map((node) => api.relations(node.id, asOf, signal)));
  for (const [index, relations] of beyond.entries()) add(nodes, inner[index]!, relations, OUTER);
  return [...nodes.values()];
}

/** Adds the other ends of the relations of a node, each entity once. */
function add(nodes: Map<string, Node>, from: Node, relations: api.Relation[], limit: number): void {
  let added = 0;
  const left = new Set<string>();
  for (const { source_id, target_id, relation_type, properties } of relations) {
    const isSource = source_id === from.id;
    const id = isSource ? target_id : source_id;
    if (nodes.has(id)) continue;
    if (added === limit) {
      left.add(id);
      continue;
    }
    const edge = `${isSource ? "→" : "←"} ${relation_type.replaceAll("_", " ")}`;
    const label = isSource ? properties.target : properties.source;
    nodes.set(id, { id, kind: typeIn(id), label, verdict: undefined, ring: from.ring + 1, to: "entity", from: from.id, edge, more: 0 });
    added++;
  }
  from.more = left.size;
}

/** Returns the type that the id of an entity begins with. */
const typeIn = (id: string) => id.slice(0, id.indexOf(":"));
