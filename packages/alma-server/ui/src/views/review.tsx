import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { act, undoable } from "../acts.js";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { Forest } from "../charts/forest.js";
import { useKeys } from "../keys.js";
import { Answer, Empty, Figures, Head, Time, Verdict } from "../parts.js";
import { go, href, hrefWith, param, scope } from "../router.js";
import { Inline, Stored } from "../text.js";
import { count, many, percent, range } from "../words.js";
import { Pairs } from "./pairs.js";

const VERDICTS = [
  ["s", "success", "Success"],
  ["f", "failure", "Failure"],
  ["p", "partial", "In part"],
  ["x", "unverified", "Not judged"],
] as const;

/** Episodes that a person's verdict helps most, one after the other, and pairs of memories that may say the same. */
export function Review(): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, "review"]), api.review);
  const pairs = useAsked(JSON.stringify([scope.value, "pairs"]), api.pairs);
  return (
    <>
      <Head title="Review" note="Your verdict counts more than an agent's own. Those from which most is learned come first." />
      <Answer asked={asked} rows={8}>
        {(queue) => {
          const items = [...queue.unjudged, ...queue.surprising];
          const at = Math.max(0, items.findIndex((item) => item.episode.id === param("episode")));
          return (
            <>
              {items.length > 0 && <Queue items={items} at={at} queue={queue} />}
              <Answer asked={pairs} rows={3}>
                {(found) => (found.pairs.length ? <Pairs found={found} /> : !items.length && <Nothing />)}
              </Answer>
            </>
          );
        }}
      </Answer>
    </>
  );
}

function Nothing(): JSX.Element {
  return (
    <Empty title="There is nothing to judge.">
      <p>Episodes that ended without a verdict, or otherwise than forecast, come here, and memories that may say the same.</p>
    </Empty>
  );
}

function Queue({ items, at, queue }: { items: api.ReviewItem[]; at: number; queue: api.ReviewQueue }): JSX.Element {
  const item = items[at]!;
  const { episode } = item;
  const next = items[at + 1] ?? items[0];
  const show = (id: string | undefined) => go(hrefWith({ episode: id }), { isReplaced: true });
  const judge = (outcome: (typeof VERDICTS)[number][1], name: string) =>
    void act(async () => {
      const done = await undoable(() => api.settle(episode.agent, episode.id, outcome), `Judged: ${name.toLowerCase()}`);
      show(next === item ? undefined : next?.episode.id);
      return done;
    });
  useKeys({
    n: () => show(next?.episode.id),
    ...(!api.isReadOnly && Object.fromEntries(VERDICTS.map(([key, outcome, name]) => [key, () => judge(outcome, name)]))),
  });
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [episode.id]);
  return (
    <div class="review">
      <section class="review-item" aria-labelledby="episode-title">
        <h2 id="episode-title" class="unseen">
          Episode {at + 1} of {items.length}
        </h2>
        <p class="soft" role="status">
          {at + 1} of {count(items.length)}: {queue.unjudged.includes(item) ? "not judged" : "judged otherwise than forecast"}
        </p>
        <div class="lead">
          <Stored text={episode.task} />
        </div>
        <Figures
          of={[
            ["Agent", <Inline text={episode.agent} />],
            ...(episode.ended_at ? ([["Ended", <Time at={episode.ended_at} />]] as [string, JSX.Element][]) : []),
            ["Verdict", <Verdict verdict={episode.outcome} />],
            ...(episode.verdict_source ? ([["Judged by", episode.verdict_source]] as [string, string][]) : []),
            ...(item.forecast
              ? ([
                  [
                    "Forecast",
                    <span class="evidence-line">
                      <Forest rate={item.forecast.rate} interval={item.forecast} />
                      {percent(item.forecast.rate)}, interval {range(item.forecast)}
                    </span>,
                  ],
                ] as [string, JSX.Element][])
              : []),
          ]}
        />
        {episode.strategy && <Field label="Strategy" text={episode.strategy} />}
        {episode.error && <Field label="Error" text={episode.error} />}
        {(episode.reason ?? episode.feedback) && <Field label="Feedback" text={(episode.reason ?? episode.feedback)!} />}
        <Steps steps={episode.steps} />
        {episode.outcome_id && (
          <p>
            <a href={href("memory", episode.outcome_id)}>Its outcome</a>
          </p>
        )}
        {!api.isReadOnly && (
          <div class="verdicts" role="group" aria-label="Verdict">
            {VERDICTS.map(([key, outcome, name]) => (
              <button type="button" class={`judge judge-${outcome}`} onClick={() => judge(outcome, name)}>
                {name} <kbd>{key}</kbd>
              </button>
            ))}
            <button type="button" class="quiet" onClick={() => show(next?.episode.id)}>
              Next <kbd>n</kbd>
            </button>
          </div>
        )}
      </section>
      <section aria-labelledby="queue-title" class="queue">
        <h2 id="queue-title">Queue</h2>
        <p class="soft">
          {many(queue.unjudged_count, "episode")} not judged, {count(queue.surprising_count)} judged otherwise than forecast
        </p>
        <ol ref={list}>
          {items.map((each) => (
            <li key={each.episode.id}>
              <a href={hrefWith({ episode: each.episode.id })} data-row="" aria-current={each === item ? "true" : undefined}>
                <Inline text={each.episode.task} />
              </a>
              {each.forecast && <span class="soft figure">{percent(each.forecast.rate)}</span>}
            </li>
          ))}
        </ol>
      </section>
    </div>
  );
}

function Field({ label, text }: { label: string; text: string }): JSX.Element {
  return (
    <div class="particular">
      <span class="soft">{label}</span>
      <Stored text={text} />
    </div>
  );
}

function Steps({ steps }: { steps: api.ReviewItem["episode"]["steps"] }): JSX.Element | null {
  if (!steps.length) return null;
  return (
    <div class="table-place">
      <table class="list">
        <caption>{many(steps.length, "step")}</caption>
        <thead>
          <tr>
            <th scope="col" class="figure">
              #
            </th>
            <th scope="col" class="wide">
              Action
            </th>
            <th scope="col">Went</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <tr>
              <td class="figure" data-label="Step">
                {step.number}
              </td>
              <td class="wide">
                <Stored text={step.action} lines={3} />
                {step.error && <Stored text={step.error} lines={3} />}
                {!step.error && step.output && <Stored text={step.output} lines={2} />}
              </td>
              <td data-label="Went">
                <Verdict verdict={step.ok === null ? null : step.ok ? "success" : "failure"} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
