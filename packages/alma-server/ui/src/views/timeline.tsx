import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { type Line, TimePlot } from "../charts/time.js";
import { Answer, Empty, Figures, Head } from "../parts.js";
import { go, href, hrefWith, param, scope } from "../router.js";
import { count, day as dayName, inOrder, kindName, many, percent, range } from "../words.js";

const seconds = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1000;

/** What was remembered and how it went, by day. */
export function Timeline(): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, "timeline"]), api.timeline);
  return (
    <>
      <Head title="Timeline" note="Drag over days to look at them alone" />
      <Answer asked={asked} rows={10}>
        {(days) => (days.length ? <Days all={days} /> : <Empty title="Nothing is remembered yet." />)}
      </Answer>
    </>
  );
}

function Days({ all }: { all: api.Day[] }): JSX.Element {
  const from = param("from");
  const to = param("to");
  const days = useMemo(() => all.filter(({ day }) => (!from || day >= from) && (!to || day <= to)), [all, from, to]);
  const { axis, rates, outcomes, others, formed } = useMemo(() => seriesOf(days), [days]);
  const judged = sum(days, (day) => day.judged);
  const successes = sum(days, (day) => day.successes);
  const total = sum(days, (day) => sumOf(day.by_kind));
  const choose = (low: number, high: number) => {
    const inside = days.filter(({ day }) => seconds(day) >= low - 43_200 && seconds(day) <= high + 43_200);
    if (inside.length) go(hrefWith({ from: inside[0]!.day, to: inside.at(-1)!.day }));
  };
  if (!days.length) {
    return (
      <Empty title="No day here has memories.">
        <a href={hrefWith({ from: null, to: null })}>All days</a>
      </Empty>
    );
  }
  return (
    <>
      <div class="section-head">
        <p role="status">
          {dayName(days[0]!.day)} to {dayName(days.at(-1)!.day)}
        </p>
        <span class="buttons tight">
          {(from || to) && <a href={hrefWith({ from: null, to: null })}>All days</a>}
          <a href={href("memories", null, { since: days[0]!.day, order: "oldest" })}>Memories since then</a>
        </span>
      </div>
      <Figures
        of={[
          ["Memories", count(total)],
          ["Judged", count(judged)],
          ["Rate of success", judged ? percent(successes / judged) : "none judged"],
          ["Rules formed", count(sum(days, (day) => day.formed))],
        ]}
      />
      <section>
        <h2>Rate of success</h2>
        <p class="key">
          <span class="key-line tone-accent" /> rate of the day <span class="key-band" /> interval at 95 % <span class="key-mark" /> a rule was formed
        </p>
        <TimePlot name={`Rate of success by day: ${many(days.length, "day")}; the table below has the numbers`} days={axis} lines={rates} marks={formed} isRate height={180} onChoose={choose} />
      </section>
      <section>
        <h2>Outcomes</h2>
        <TimePlot name="Outcomes by day" days={axis} lines={outcomes} height={140} onChoose={choose} />
      </section>
      <section>
        <h2>Other memories</h2>
        <TimePlot name="Other memories by day" days={axis} lines={others} height={110} onChoose={choose} />
      </section>
      <details class="day-table">
        <summary>As a table</summary>
        <DayTable days={days} />
      </details>
    </>
  );
}

function seriesOf(days: api.Day[]): { axis: number[]; rates: Line[]; outcomes: Line[]; others: Line[]; formed: number[] } {
  const of = (day: api.Day) => day.by_kind.outcome ?? 0;
  return {
    axis: days.map(({ day }) => seconds(day)),
    formed: days.filter((day) => day.formed).map(({ day }) => seconds(day)),
    rates: [
      { name: "lower", tone: "band", values: days.map((day) => day.interval?.lower ?? null) },
      { name: "upper", tone: "band", values: days.map((day) => day.interval?.upper ?? null) },
      { name: "rate", tone: "accent", values: days.map((day) => (day.judged ? day.successes / day.judged : null)) },
    ],
    outcomes: [{ name: "outcomes", tone: "accent", isBars: true, values: days.map(of) }],
    others: [{ name: "others", tone: "soft", isBars: true, values: days.map((day) => sumOf(day.by_kind) - of(day)) }],
  };
}

function DayTable({ days }: { days: api.Day[] }): JSX.Element {
  return (
    <div class="table-place">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col" class="figure">
              Judged
            </th>
            <th scope="col" class="figure">
              Successes
            </th>
            <th scope="col" class="figure">
              Interval
            </th>
            <th scope="col" class="wide">
              Memories
            </th>
            <th scope="col" class="figure">
              Rules formed
            </th>
          </tr>
        </thead>
        <tbody>
          {days.toReversed().map((day) => (
            <tr key={day.day}>
              <th scope="row">
                <a href={hrefWith({ from: day.day, to: day.day })} data-row="">
                  {dayName(day.day)}
                </a>
              </th>
              <td class="figure" data-label="Judged">
                {count(day.judged)}
              </td>
              <td class="figure" data-label="Successes">
                {day.successes}
              </td>
              <td class="figure" data-label="Interval">
                {day.interval ? range(day.interval) : "–"}
              </td>
              <td class="wide" data-label="Memories">
                {inOrder(day.by_kind)
                  .map(([kind, n]) => `${count(n)} ${kindName(kind, n).toLowerCase()}`)
                  .join(", ")}
              </td>
              <td class="figure" data-label="Formed">
                {day.formed || "–"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const sumOf = (counts: Record<string, number>) => Object.values(counts).reduce((total, each) => total + each, 0);
const sum = (days: api.Day[], of: (day: api.Day) => number) => days.reduce((total, day) => total + of(day), 0);
