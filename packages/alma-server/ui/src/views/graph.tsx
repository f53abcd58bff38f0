import type { JSX } from "preact";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { Around } from "../charts/around.js";
import { graphAround } from "../evidence_graph.js";
import { Answer, Box, Head } from "../parts.js";
import { go, href, route, scope } from "../router.js";
import { Inline, Stored } from "../text.js";
import { headline, many } from "../words.js";

/** Evidence around a memory: as a drawing, and the same as a list. */
export function Graph(): JSX.Element {
  const id = route.value.id;
  return id ? <OfMemory key={id} id={id} /> : <Choose />;
}

function Choose(): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, "rules"]), (signal) => api.list({ kind: "heuristic" }, 20, signal));
  return (
    <>
      <Head title="Graph" note="The evidence around one memory: what it was learned from, and what rests on it" />
      <Box label="Id of a memory" verb="Show" value="" onSend={(id) => id && go(href("graph", id))} />
      <section>
        <h2>Newest strategies</h2>
        <Answer asked={asked}>
          {(page) =>
            page.memories.length ? (
              <ul class="plain">
                {page.memories.map((memory) => (
                  <li>
                    <a href={href("graph", memory.id)} data-row="">
                      <Inline text={headline(memory)} />
                    </a>
                  </li>
                ))}
              </ul>
            ) : (
              <p class="soft">No strategy is known yet.</p>
            )
          }
        </Answer>
      </section>
    </>
  );
}

function OfMemory({ id }: { id: string }): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, id, "graph"]), (signal) => graphAround(id, signal));
  return (
    <>
      <Head title="Graph" note={asked.answer && many(asked.answer.length, "node")}>
        <a class="button-link" href={href("memory", id)}>
          Open the memory
        </a>
      </Head>
      <Answer asked={asked} rows={10}>
        {(nodes) => (
          <div class="graph">
            <div class="lead">
              <Stored text={nodes[0]!.label} />
            </div>
            <Around nodes={nodes} />
          </div>
        )}
      </Answer>
    </>
  );
}
