import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { act, undoable } from "../acts.js";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { Bars } from "../charts/bars.js";
import { Answer, Box, Empty, Figures, Head, Kind, MemoryLink, Time, useAgent, Verdict } from "../parts.js";
import { go, href, hrefWith, param, scope } from "../router.js";
import { Inline, Stored } from "../text.js";
import { bytes, count, decimals, inOrder, kindName, many, particulars } from "../words.js";

/** What `retrieve` finds for a task, best first, and why. */
export function Search(): JSX.Element {
  const agents = useAsked(`agents ${scope.value.project}`, (signal) => api.names("agents", signal));
  const agent = useAgent(agents);
  const task = param("q");
  const note = agent && (
    <>
      As <Inline text={agent} /> would find it before a task
      {scope.value.agent ? "" : "; pick another agent above"}
    </>
  );
  return (
    <>
      <Head title="Search" note={api.isReadOnly ? "By words, in this snapshot" : note} />
      <Box
        label={api.isReadOnly ? "Words" : "Task"}
        isLabelHidden
        isSearch
        value={task}
        placeholder={api.isReadOnly ? "Words of a memory" : "Describe a task, as an agent would"}
        onSend={(q) => (api.isReadOnly ? go(href("memories", null, { q })) : go(hrefWith({ q, why: null })))}
      />
      {!task || api.isReadOnly || (agents.answer && !agent) ? <Overview /> : agent ? <Results agent={agent} task={task} /> : <Answer asked={agents}>{() => null}</Answer>}
    </>
  );
}

function Results({ agent, task }: { agent: string; task: string }): JSX.Element {
  const key = JSON.stringify([scope.value, agent, task]);
  const found = useAsked(key, (signal) => api.retrieve(agent, task, signal));
  return (
    <Answer asked={found} rows={8}>
      {(answer) => (
        <>
          <p class="result-line" role="status">
            {many(answer.found.length, "memory", "memories")}, best first, in {answer.retrieval_time_ms.toFixed(0)} ms.{" "}
            <a href={href("strategies", null, { task })}>The lines that the prompt would have</a>
          </p>
          {answer.hint && (
            <p class="soft">
              <Inline text={answer.hint} />
            </p>
          )}
          {answer.found.length === 0 && <Empty title="Nothing that is known matters for this task." />}
          <ol class="results">
            {answer.found.map((found) => (
              <Result key={found.memory.id} found={found} agent={agent} task={task} />
            ))}
          </ol>
          <Contradictions found={answer.contradictions} />
          <NotShown agent={agent} task={task} />
        </>
      )}
    </Answer>
  );
}

function Result({ found, agent, task }: { found: api.Found; agent: string; task: string }): JSX.Element {
  const { memory } = found;
  const { weights, usefulness, ...parts } = found.factors;
  const [isOpen, setOpen] = useState(false);
  return (
    <li class="result">
      <div class="result-head">
        <span class="tag">{found.tag}</span>
        <Kind kind={memory.kind} />
        {memory.kind === "outcome" && <Verdict verdict={memory.outcome} />}
        <span class="soft">
          <Inline text={memory.agent} />
        </span>
        <Time at={memory.created_at} isDay />
        <span class="score" title="Score of the ranking">
          {decimals(found.score)}
        </span>
      </div>
      <p class="result-title">
        <MemoryLink memory={memory} isRow />
      </p>
      {particulars(memory)
        .slice(0, 2)
        .map(([label, text]) => (
          <div class="particular">
            <span class="soft">{label}</span>
            <Stored text={text} lines={3} />
          </div>
        ))}
      <Reason found={found} />
      <Bars of={parts} weights={weights} times={usefulness} />
      <div class="buttons tight">
        <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Why
        </button>
        <Signals memory={memory} agent={agent} />
      </div>
      {isOpen && <Why id={memory.id} agent={agent} task={task} />}
    </li>
  );
}

/** Memories that contradict each other, and which of two is preferred. */
function Contradictions({ found }: { found: api.Retrieved["contradictions"] }): JSX.Element | null {
  if (!found.length) return null;
  return (
    <section>
      <h2>Contradictions</h2>
      <ul class="plain">
        {found.map((each) => (
          <li>
            <a href={href("memory", each.preferred_id)}>
              <Inline text={each.preferred} />
            </a>{" "}
            is preferred, as {each.why}, to{" "}
            <a href={href("memory", each.other_id)}>
              <Inline text={each.other} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Why it was found, in one line. */
function Reason({ found }: { found: api.Found }): JSX.Element | null {
  const { words = [], folded = [] } = found.explanation ?? {};
  if (!words.length && !folded.length) return null;
  return (
    <p class="soft">
      {words.length > 0 && (
        <>
          Shares <Inline text={words.join(", ")} />
        </>
      )}
      {words.length > 0 && folded.length > 0 && "; "}
      {folded.length > 0 && `stands for ${many(folded.length, "more like it", "more like it")}`}
    </p>
  );
}

/** Buttons by which a person judges a memory that was found. */
export function Signals({ memory, agent }: { memory: api.Memory; agent: string }): JSX.Element | null {
  if (api.isReadOnly || memory.kind === "user_preference") return null;
  const send = (signal: "used" | "thumbs_up" | "thumbs_down", says: string) =>
    void act(() => undoable(() => api.signal(memory.id, agent, signal), says));
  return (
    <>
      <button type="button" class="quiet" onClick={() => send("thumbs_up", "Counted as helpful")}>
        Helpful
      </button>
      <button type="button" class="quiet" onClick={() => send("thumbs_down", "Counted as not helpful")}>
        Not helpful
      </button>
      <button type="button" class="quiet" onClick={() => send("used", "Counted as used")}>
        Used
      </button>
    </>
  );
}

/** Why a memory is shown for a task, or the first filter that left it out. */
export function Why({ id, agent, task }: { id: string; agent: string; task: string }): JSX.Element {
  const asked = useAsked(JSON.stringify([id, agent, task]), (signal) => api.explain(id, agent, task, signal));
  return (
    <div class="why" aria-live="polite">
      <Answer asked={asked} rows={2}>
        {(answer) => <Stored text={answer.text} />}
      </Answer>
    </div>
  );
}

function NotShown({ agent, task }: { agent: string; task: string }): JSX.Element {
  const id = param("why");
  return (
    <section class="not-shown">
      <h2>Missing one?</h2>
      <Box label="Id of a memory" value={id} verb="Explain" onSend={(why) => go(hrefWith({ why }))} />
      {id && <Why id={id} agent={agent} task={task} />}
    </section>
  );
}

/** What the project holds, in numbers: those of `alma stats`. */
function Overview(): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value.project, scope.value.agent]), api.stats);
  return (
    <Answer asked={asked} rows={4}>
      {(stats) =>
        stats.total === 0 ? (
          <Empty title="Nothing is remembered yet.">
            <p>
              An agent learns with <code>alma learn</code>, a hook, MCP or the API. What it learned is here a moment later: <a href={href("live")}>Live</a>{" "}
              shows it as it comes.
            </p>
          </Empty>
        ) : (
          <>
            <ul class="counts">
              {inOrder(stats.by_kind).map(([kind, n]) => (
                <li>
                  <a href={href("memories", null, { kind })}>
                    <span class="count">{count(n)}</span>
                    <span class="count-name">{kindName(kind, n)}</span>
                  </a>
                </li>
              ))}
            </ul>
            <Figures
              of={[
                ["Memories", count(stats.total)],
                ["First", stats.oldest ? <Time at={stats.oldest} isDay /> : "none"],
                ["Newest", stats.newest ? <Time at={stats.newest} isDay /> : "none"],
                ["Journal", many(stats.journal_records, "record")],
                ["Store", bytes(stats.database_bytes)],
                ["Embedder", <Inline text={stats.embedder} />],
              ]}
            />
          </>
        )
      }
    </Answer>
  );
}
