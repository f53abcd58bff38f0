import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { dark } from "../theme.js";

const DAY = 86_400;
const FONT = "12px system-ui, sans-serif";

/** Series of a plot: a step, a line, or the band between the two before it. */
export interface Line {
  name: string;
  tone: "accent" | "soft" | "band";
  values: (number | null)[];
  isBars?: boolean;
}

/** Plot over days. Dragging over it chooses days, given in seconds since 1970. */
export function TimePlot(props: {
  name: string;
  days: number[];
  lines: Line[];
  isRate?: boolean;
  /** Days with a mark at the foot of the plot, in seconds. */
  marks?: number[];
  height: number;
  onChoose?: (from: number, to: number) => void;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const isDark = dark.value;
  useEffect(() => {
    const element = box.current!;
    const tone = tonesOf(element);
    const bars = uPlot.paths.bars!({ size: [0.7, 24] });
    const plot = new uPlot(
      {
        width: element.clientWidth || 320,
        height: props.height,
        legend: { show: false },
        cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
        select: { show: true, left: 0, top: 0, width: 0, height: 0 },
        scales: { x: { time: true, range: (_, min, max) => [min - DAY / 2, max + DAY / 2] }, y: { range: props.isRate ? [0, 1] : (_, __, max) => [0, Math.max(1, max * 1.08)] } },
        axes: [
          { stroke: tone.soft, grid: { show: false }, ticks: { show: false }, font: FONT, size: 28, space: 70, values: (_, ticks) => ticks.map(dayName) },
          {
            stroke: tone.soft,
            grid: { stroke: tone.line, width: 1 },
            ticks: { show: false },
            font: FONT,
            size: 46,
            values: (_, ticks) => ticks.map((tick) => (props.isRate ? `${Math.round(tick * 100)} %` : Number.isInteger(tick) ? String(tick) : "")),
          },
        ],
        series: [
          {},
          ...props.lines.map(
            (line): uPlot.Series => ({
              label: line.name,
              stroke: line.tone === "band" ? "transparent" : tone[line.tone],
              width: line.isBars ? 0 : 1.5,
              spanGaps: true,
              points: { show: !line.isBars && line.tone !== "band", size: 5, fill: tone[line.tone] },
              ...(line.isBars && { fill: tone[line.tone], paths: bars, width: 0 }),
            }),
          ),
        ],
        bands: bandsOf(props.lines, tone.band),
        hooks: {
          draw: [
            ({ ctx, bbox, valToPos }) => {
              const size = 5 * devicePixelRatio;
              const foot = bbox.top + bbox.height;
              ctx.fillStyle = tone.ink;
              for (const mark of props.marks ?? []) {
                const x = valToPos(mark, "x", true);
                ctx.beginPath();
                ctx.moveTo(x, foot - 1.6 * size);
                ctx.lineTo(x + size, foot);
                ctx.lineTo(x - size, foot);
                ctx.fill();
              }
            },
          ],
          setSelect: [
            (self) => {
              if (self.select.width < 3) return;
              props.onChoose?.(self.posToVal(self.select.left, "x"), self.posToVal(self.select.left + self.select.width, "x"));
              self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
        },
      },
      [props.days, ...props.lines.map((line) => line.values)],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: props.height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [props.days, props.lines, props.marks, isDark]);
  return <div ref={box} class="plot" role="img" aria-label={props.name} />;
}

function bandsOf(lines: Line[], fill: string): uPlot.Band[] {
  const [low, high] = lines.flatMap((line, index) => (line.tone === "band" ? [index + 1] : []));
  return low && high ? [{ series: [high, low], fill }] : [];
}

function dayName(seconds: number): string {
  return new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

/** Returns the colours of the page, which a canvas cannot read by itself. */
function tonesOf(element: HTMLElement): Record<"accent" | "soft" | "ink" | "band" | "line", string> {
  const probe = element.appendChild(document.createElement("span"));
  const of = (name: string) => {
    probe.className = `probe-${name}`;
    return getComputedStyle(probe).color;
  };
  const found = { accent: of("accent"), soft: of("soft"), ink: of("ink"), band: of("band"), line: of("line") };
  probe.remove();
  return found;
}
