import { Fragment, type JSX } from "preact";
import { useState } from "preact/hooks";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { Forest, ForestScale } from "../charts/forest.js";
import { Answer, Box, Empty, Head, Judgement, Select, Time, useAgent } from "../parts.js";
import { go, href, hrefWith, param, scope } from "../router.js";
import { Inline, Stored } from "../text.js";
import { count, many, percent, range } from "../words.js";
import { Outcomes } from "./memory.js";

const SHOWN = 100;

/** Record of the strategies: for a task the lines of the prompt, each beside its record; without one, all. */
export function Strategies(): JSX.Element {
  const agents = useAsked(`agents ${scope.value.project}`, (signal) => api.names("agents", signal));
  const agent = useAgent(agents);
  const task = param("task");
  return (
    <>
      <Head title="Strategies" note={agent && <>What <Inline text={agent} /> tried, and how often it worked</>} />
      {!api.isReadOnly && (
        <Box label="Task" isLabelHidden isSearch verb="Show" value={task} placeholder="Describe a task, to see what the prompt would say" onSend={(value) => go(hrefWith({ task: value, open: null, line: null }))} />
      )}
      {!agent && <Answer asked={agents}>{() => <NoWays />}</Answer>}
      {agent && task && !api.isReadOnly && (
        <>
          <Prompt agent={agent} task={task} />
          <Questions agent={agent} task={task} />
        </>
      )}
      {agent && <Table agent={agent} task={task} />}
    </>
  );
}

function NoWays(): JSX.Element {
  return (
    <Empty title="No strategy was tried yet.">
      <p>A strategy is what an agent says that it did for a task. It is here from its first outcome on.</p>
    </Empty>
  );
}

/** The very lines that the prompt would have; a line about a strategy has its forest plot beside it. */
function Prompt({ agent, task }: { agent: string; task: string }): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, agent, task, "prompt"]), (signal) => api.retrieve(agent, task, signal));
  return (
    <section aria-labelledby="prompt-title">
      <h2 id="prompt-title">In the prompt</h2>
      <Answer asked={asked} rows={8}>
        {(answer) => {
          const ways = new Map(answer.strategies.map((way) => [way.tag, way]));
          const ids = new Map(answer.found.map((found) => [found.tag, found.memory.id]));
          const lines = answer.prompt.split("\n").filter(Boolean);
          if (!lines.length) return <p class="soft">Nothing: no note matters for this task.</p>;
          return (
            <ol class="prompt">
              {lines.map((line, index) => {
                const tag = /^\[(\w+)\]/.exec(line)?.[1];
                return <Line key={index} line={line} tag={tag} way={tag ? ways.get(tag) : undefined} id={tag && ids.get(tag)} />;
              })}
            </ol>
          );
        }}
      </Answer>
    </section>
  );
}

/** Line of the prompt. The tag of a strategy opens the outcomes behind it, that of another note its memory. */
function Line({ line, tag, way, id }: { line: string; tag: string | undefined; way: api.Way | undefined; id: string | undefined }): JSX.Element {
  const isOpen = Boolean(way) && param("line") === tag;
  if (!tag) {
    return (
      <li class="prompt-frame">
        <Inline text={line} />
      </li>
    );
  }
  return (
    <li class={isOpen ? "prompt-note is-open" : "prompt-note"}>
      <span class="prompt-line">
        {way ? (
          <button type="button" class="tag-button" data-row="" aria-expanded={isOpen} onClick={() => go(hrefWith({ line: isOpen ? null : tag }), { isReplaced: true })}>
            [{tag}]
          </button>
        ) : (
          <a href={href("memory", id)} data-row="">
            [{tag}]
          </a>
        )}
        <Inline text={line.slice(tag.length + 2)} />
      </span>
      {way && <Forest rate={way.rate} interval={way.interval} />}
      {way && isOpen && (
        <div class="prompt-behind">
          <Behind way={way} isInPrompt />
        </div>
      )}
    </li>
  );
}

/** What `check` says of an action, and `assess` of a way. */
function Questions({ agent, task }: { agent: string; task: string }): JSX.Element {
  const action = param("action");
  const way = param("way");
  return (
    <div class="questions">
      <section>
        <h2>Check an action</h2>
        <Box label="Action" isLabelHidden placeholder="An action, as the agent would take it" verb="Check" value={action} onSend={(value) => go(hrefWith({ action: value }))} />
        {action && <Check agent={agent} task={task} action={action} />}
      </section>
      <section>
        <h2>Assess a strategy</h2>
        <Box label="Strategy" isLabelHidden placeholder="A strategy for this task" verb="Assess" value={way} onSend={(value) => go(hrefWith({ way: value }))} />
        {way && <Assess agent={agent} task={task} way={way} />}
      </section>
    </div>
  );
}

function Check({ agent, task, action }: { agent: string; task: string; action: string }): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, agent, task, action, "check"]), (signal) => api.check(agent, action, task, signal));
  return (
    <div class="answer" aria-live="polite">
      <Answer asked={asked} rows={2}>
        {({ warnings, elsewhere, hint }) => (
          <>
            {warnings.length + elsewhere.length === 0 && <p>No known reason against it. That is no permission.</p>}
            <ul class="plain">
              {[...warnings, ...elsewhere].map((warning) => (
                <li>
                  <a href={href("memory", warning.anti_pattern.id)}>
                    <Inline text={warning.summary} />
                  </a>
                </li>
              ))}
            </ul>
            {hint && (
              <p class="soft">
                <Inline text={hint} />
              </p>
            )}
          </>
        )}
      </Answer>
    </div>
  );
}

function Assess({ agent, task, way }: { agent: string; task: string; way: string }): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, agent, task, way, "assess"]), (signal) => api.assess(agent, task, way, signal));
  return (
    <div class="answer" aria-live="polite">
      <Answer asked={asked} rows={2}>
        {(found) => (
          <>
            <div class="evidence-line">
              <Forest rate={found.confidence_score} interval={found.interval} />
              <span>
                {count(found.successes)} of {count(found.trials)}, interval {range(found.interval)}
              </span>
              <Judgement verdict={found.verdict} />
            </div>
            <Stored text={found.recommendation} />
          </>
        )}
      </Answer>
    </div>
  );
}

type Order = "expected" | "rate" | "trials" | "last";
const ORDERS: [Order, string][] = [
  ["expected", "Expected rate"],
  ["rate", "Rate so far"],
  ["trials", "Tries"],
  ["last", "Last used"],
];
const KEY: Record<Order, (way: api.Way) => number> = {
  expected: (way) => way.expected,
  rate: (way) => way.rate,
  trials: (way) => way.trials,
  last: (way) => Date.parse(way.last_used),
};

function Table({ agent, task }: { agent: string; task: string }): JSX.Element {
  const type = param("type");
  const order = (param("order") || "expected") as Order;
  const limit = param("all") ? 1000 : SHOWN;
  const asked = useAsked(JSON.stringify([scope.value, agent, task, type, limit]), (signal) => api.strategies(agent, { task, type, limit }, signal));
  return (
    <section aria-labelledby="ways-title">
      <div class="section-head">
        <h2 id="ways-title">{task ? "All that was tried for such tasks" : "All strategies"}</h2>
        <Select label="Order" value={order} options={ORDERS} onChange={(value) => go(hrefWith({ order: value === "expected" ? null : value }), { isReplaced: true })} />
      </div>
      <Answer asked={asked} rows={10}>
        {({ rows, hint }) => {
          const key = KEY[order] ?? KEY.expected;
          const sorted = rows.toSorted((a, b) => key(b) - key(a));
          if (!rows.length) return <>{hint ? <Empty title={hint} /> : <NoWays />}</>;
          return (
            <>
              <Ways rows={sorted} />
              {rows.length === SHOWN && limit === SHOWN && (
                <p>
                  <a href={hrefWith({ all: 1 })}>Show more</a>
                </p>
              )}
            </>
          );
        }}
      </Answer>
    </section>
  );
}

function Ways({ rows }: { rows: api.Way[] }): JSX.Element {
  const open = param("open");
  return (
    <div class="table-place">
      <table class="list ways">
        <thead>
          <tr>
            <th scope="col" class="wide">
              Strategy
            </th>
            <th scope="col" class="figure">
              Worked
            </th>
            <th scope="col" class="figure">
              Tasks
            </th>
            <th scope="col" class="plot-column">
              <span class="unseen">Rate and interval at 95 %</span>
              <ForestScale />
            </th>
            <th scope="col" class="figure">
              Expected
            </th>
            <th scope="col">Verdict</th>
            <th scope="col">Last</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((way) => {
            const key = way.id || `${way.strategy}\n${way.task}`;
            const isOpen = open === key;
            return (
              <Fragment key={key}>
                <tr class={isOpen ? "is-open" : undefined}>
                  <td class="wide">
                    <button
                      type="button"
                      class="row-button"
                      data-row=""
                      aria-expanded={isOpen}
                      onClick={() => go(hrefWith({ open: isOpen ? null : key }), { isReplaced: true })}
                    >
                      <svg viewBox="0 0 16 16" aria-hidden="true">
                        <path d={isOpen ? "M3 6l5 5 5-5" : "M6 3l5 5-5 5"} />
                      </svg>
                      <Inline text={way.strategy} />
                    </button>
                    {way.task && (
                      <span class="soft clamp">
                        <Inline text={way.task} />
                      </span>
                    )}
                  </td>
                  <td class="figure" data-label="Worked">
                    {count(way.successes)} of {count(way.trials)}
                  </td>
                  <td class="figure" data-label="Tasks">
                    {count(way.tasks)}
                  </td>
                  <td class="plot-column">
                    <Forest rate={way.rate} interval={way.interval} />
                  </td>
                  <td class="figure" data-label="Expected">
                    {percent(way.expected)}
                  </td>
                  <td data-label="Verdict">
                    <Judgement verdict={way.verdict} />
                  </td>
                  <td data-label="Last">
                    <Time at={way.last_used} isDay />
                  </td>
                </tr>
                {isOpen && (
                  <tr class="inner">
                    <td colSpan={7}>
                      <Behind way={way} />
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Outcomes behind a strategy, newest first. */
function Behind({ way, isInPrompt = false }: { way: api.Way; isInPrompt?: boolean }): JSX.Element {
  const [shown, setShown] = useState(20);
  const rule = way.heuristic_id ?? way.anti_pattern_id;
  const asked = useAsked(JSON.stringify([scope.value, way.id, shown, "behind"]), async (signal) =>
    rule
      ? api.evidence(rule, Math.min(200, shown), signal)
      : Promise.all(way.outcome_ids.slice(0, shown).map((id) => api.memory(id, signal))),
  );
  const total = way.outcome_ids.length || way.trials;
  return (
    <div class="behind">
      {!isInPrompt && <Stored text={way.summary} />}
      <p class="buttons tight">
        {rule && <a href={href("memory", rule)}>The rule that was formed of it</a>}
        {rule && <a href={href("graph", rule)}>Graph</a>}
        {way.shared_from && (
          <span class="soft">
            shared by <Inline text={way.shared_from} />
          </span>
        )}
      </p>
      <Answer asked={asked} rows={4}>
        {(outcomes) => (
          <>
            <Outcomes outcomes={outcomes} />
            <p class="soft">
              {many(outcomes.length, "outcome")} of {count(total)}
              {outcomes.length < total && shown < 200 && (
                <button type="button" class="quiet" onClick={() => setShown(200)}>
                  Show more
                </button>
              )}
            </p>
          </>
        )}
      </Answer>
    </div>
  );
}
