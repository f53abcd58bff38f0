import type { Answer, CustomMemory, Found, Heuristic, Memory, MemorySlice, Outcome, RetrieveResponse, Schemas } from "./types.js";

type Stored = Answer<Schemas["Found"]["memory"]>;

/** Returns a stored memory with what follows from its fields: `success` of an outcome, `success_rate` of a heuristic. */
export function memory(stored: Stored | Memory): Memory {
  if ("task_description" in stored) return { ...stored, success: stored.outcome === "success" } as Outcome;
  if ("strategy" in stored) {
    const { success_count, occurrence_count } = stored;
    return { ...stored, success_rate: occurrence_count ? success_count / occurrence_count : 0 } as Heuristic;
  }
  return stored as Memory;
}

/** Returns what was found as alma-memory published it, with the rest besides. Memories below `minConfidence` are left out, of the notes too. */
export function retrieved(
  answer: Answer<Schemas["Retrieved"]>,
  asked: { query?: string | null | undefined; agent?: string | null | undefined; minConfidence?: number | undefined },
): RetrieveResponse {
  const all: Found[] = answer.memories.map((each) => ({ ...each, memory: memory(each.memory) }));
  const unsure = all.filter((each) => each.memory.confidence < (asked.minConfidence ?? 0));
  const found = all.filter((each) => !unsure.includes(each));
  const total_items = answer.total_items - unsure.length;
  const prompt = answer.prompt
    .split("\n")
    .filter((line) => !unsure.some((each) => line.startsWith(`[${each.tag}]`)))
    .join("\n");
  const slice: MemorySlice = {
    heuristics: of(found, "heuristic"),
    outcomes: of(found, "outcome"),
    preferences: of(found, "user_preference"),
    domain_knowledge: of(found, "domain_knowledge"),
    anti_patterns: of(found, "anti_pattern"),
    conversations: of(found, "conversation"),
    others: found.map((each) => each.memory).filter((each): each is CustomMemory => "definition" in each),
    query: asked.query ?? "",
    agent: asked.agent ?? "",
    retrieval_time_ms: answer.retrieval_time_ms,
    total_items,
  };
  return {
    ...answer,
    success: true,
    memories: slice,
    found,
    prompt,
    prompt_injection: prompt,
    ids: answer.ids.filter((id) => !unsure.some((each) => each.memory.id === id)),
    total_items,
  };
}

function of<Kind extends Memory["kind"]>(found: Found[], kind: Kind): Extract<Memory, { kind: Kind }>[] {
  return found.map((each) => each.memory).filter((each): each is Extract<Memory, { kind: Kind }> => each.kind === kind);
}
