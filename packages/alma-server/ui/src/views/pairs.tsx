import type { JSX } from "preact";
import { act, type Done, Ids, propose } from "../acts.js";
import * as api from "../api.js";
import { Kind } from "../parts.js";
import { href } from "../router.js";
import { Stored } from "../text.js";
import { count, headline, particulars } from "../words.js";
import { Numbers } from "./memory.js";

/** Pairs of memories that may say the same, each side by side. */
export function Pairs({ found }: { found: api.UnsurePairs }): JSX.Element {
  return (
    <section aria-labelledby="pairs-title">
      <h2 id="pairs-title">Pairs that may say the same</h2>
      <p class="soft" role="status">
        {count(found.pairs.length)} of {count(found.total)}. Merge those that do; those that you keep apart are never merged.
      </p>
      <ul class="pairs">
        {found.pairs.map((pair) => (
          <Pair key={pair.id} pair={pair} />
        ))}
      </ul>
    </section>
  );
}

function Pair({ pair }: { pair: api.UnsurePair }): JSX.Element {
  return (
    <li>
      <div class="sides">
        {pair.memories.map((memory) => (
          <div key={memory.id} class="side">
            <Kind kind={memory.kind} />
            <Stored text={headline(memory)} />
            {particulars(memory).map(([label, text]) => (
              <div class="particular">
                <span class="soft">{label}</span>
                <Stored text={text} lines={3} />
              </div>
            ))}
            <Numbers memory={memory} />
            <a href={href("memory", memory.id)} data-row="" data-id={memory.id}>
              Open the memory
            </a>
          </div>
        ))}
      </div>
      <div class="buttons">
        <button type="button" onClick={() => merge(pair)}>
          Merge
        </button>
        <button type="button" onClick={() => void act(() => judge(pair, "keep", "Kept apart"))}>
          Keep apart
        </button>
      </div>
    </li>
  );
}

function merge(pair: api.UnsurePair): void {
  propose({
    title: "Merge these two memories?",
    verb: "Merge",
    preview: async () => {
      const now = (await api.pairs()).pairs.find((each) => each.id === pair.id);
      if (!now) return { isEmpty: true, says: <p>Nothing would change: this pair is not there any more.</p> };
      return {
        says: (
          <>
            <p>Would keep this one, with its words and the usage of both:</p>
            <Ids ids={[now.survivor]} />
            <p>Would archive this one:</p>
            <Ids ids={now.memories.map((each) => each.id).filter((id) => id !== now.survivor)} />
            <p class="soft">No agent is shown it any more. Undo brings it back.</p>
          </>
        ),
      };
    },
    carry: () => judge(pair, "merge", "Merged 2 memories"),
  });
}

async function judge(pair: api.UnsurePair, verdict: "merge" | "keep", says: string): Promise<Done> {
  const ids = pair.memories.map((each) => each.id);
  const seq = await api.judgePair(ids, verdict);
  return { says, undo: () => api.undo(seq - 1, { isDry: false, head: seq }) };
}
