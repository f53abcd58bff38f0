import type { JSX } from "preact";
import type { Node } from "../evidence_graph.js";
import { Kind, Verdict } from "../parts.js";
import { href, param } from "../router.js";
import { Inline, plain } from "../text.js";
import { count } from "../words.js";

/** What stands around a memory or an entity: as a drawing, and the same as a list. */
export function Around({ nodes }: { nodes: Node[] }): JSX.Element {
  return (
    <>
      <Drawing nodes={nodes} />
      <section aria-labelledby="graph-list">
        <h2 id="graph-list">The same as a list</h2>
        <ul class="tree">
          <Branch node={nodes[0]!} nodes={nodes} />
        </ul>
      </section>
    </>
  );
}

function Branch({ node, nodes }: { node: Node; nodes: Node[] }): JSX.Element {
  const inner = nodes.filter((each) => each.from === node.id && each !== node);
  return (
    <li>
      <span class="tree-node">
        {node.edge && <span class="soft">{node.edge}</span>}
        <Kind kind={node.kind} />
        {node.verdict && <Verdict verdict={node.verdict} />}
        <a href={linkOf(node)} data-row="">
          <Inline text={node.label} />
        </a>
      </span>
      {(inner.length > 0 || node.more > 0) && (
        <ul>
          {inner.map((each) => (
            <Branch key={each.id} node={each} nodes={nodes} />
          ))}
          {node.more > 0 && <li class="soft">{count(node.more)} more</li>}
        </ul>
      )}
    </li>
  );
}

interface Placed {
  node: Node;
  x: number;
  y: number;
  angle: number;
}

/** Rings are wider than high: labels stand beside their nodes. */
const STRETCH = 1.4;
const LABELLED = 24;
const LABEL_CHARS = 30;

function Drawing({ nodes }: { nodes: Node[] }): JSX.Element {
  const placed = place(nodes);
  const at = new Map(placed.map((each) => [each.node.id, each]));
  const high = Math.max(100, ...placed.map(({ y }) => Math.abs(y))) + 24;
  const isLabelled = placed.filter(({ node }) => node.ring === 1).length <= LABELLED;
  const wide = Math.max(100, ...placed.map(({ x }) => Math.abs(x))) + (isLabelled ? 230 : 24);
  return (
    <svg class="drawing" viewBox={`${-wide} ${-high} ${2 * wide} ${2 * high}`} role="group" aria-label="Graph" onKeyDown={walk}>
      {placed.map(({ node, x, y }) => {
        const from = node.from ? at.get(node.from) : undefined;
        return from && <line class="edge" x1={from.x} y1={from.y} x2={x} y2={y} />;
      })}
      {placed.map((each) => (
        <Spot key={each.node.id} placed={each} />
      ))}
      <g aria-hidden="true">
        {placed.map((each) => (
          <Label key={each.node.id} placed={each} hasText={isLabelled && (each.node.ring < 2 || placed.length <= LABELLED)} />
        ))}
      </g>
    </svg>
  );
}

const SHAPES = new Map([
  ["heuristic", "M-7-7H7V7H-7z"],
  ["anti_pattern", "M0-9 9 7H-9z"],
  ["domain_knowledge", "M0-9 9 0 0 9-9 0z"],
]);

function Spot({ placed }: { placed: Placed }): JSX.Element {
  const { node, x, y } = placed;
  const tone = node.verdict === "success" ? "good" : node.verdict === "failure" ? "bad" : "soft";
  const isMiddle = node.ring === 0;
  const says = [node.edge, labelOf(node), node.verdict, node.more ? `${count(node.more)} more` : ""].filter(Boolean).join(", ");
  return (
    <a href={linkOf(node)} class={`spot spot-${node.kind === "outcome" ? tone : "rule"}${isMiddle ? " is-middle" : ""}`} aria-label={says} data-spot="">
      <title>{says}</title>
      <g transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}>
        {SHAPES.has(node.kind) ? <path d={SHAPES.get(node.kind)} /> : <circle r={isMiddle ? 10 : 7} />}
        {node.verdict === "failure" && <path class="spot-mark" d="M-3-3 3 3M3-3-3 3" />}
        {node.verdict === "success" && <path class="spot-mark" d="M-3.5 0-1 2.5 3.5-2.5" />}
      </g>
    </a>
  );
}

/** What is written beside a node. The link has it in full. */
function Label({ placed, hasText }: { placed: Placed; hasText: boolean }): JSX.Element {
  const { node, x, y } = placed;
  const label = labelOf(node);
  const short = label.length > LABEL_CHARS ? `${label.slice(0, LABEL_CHARS - 1)}…` : label;
  const isMiddle = node.ring === 0;
  const isLeft = x < -1;
  return (
    <g class="spot-label" transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}>
      {hasText && !isMiddle && (
        <text x={isLeft ? -13 : 13} y={4} text-anchor={isLeft ? "end" : "start"}>
          {short}
        </text>
      )}
      {node.more > 0 && (
        <text class="spot-more" y={isMiddle ? -16 : -13} text-anchor="middle">
          {count(node.more)} more
        </text>
      )}
    </g>
  );
}

const labelOf = (node: Node) => plain(node.label.replaceAll("\n", " "));

/** Places nodes on rings: those of the first evenly, those of the second around the angle of the node that they belong to. */
function place(nodes: Node[]): Placed[] {
  const [middle, ...rest] = nodes;
  const first = rest.filter((node) => node.ring === 1);
  const second = rest.filter((node) => node.ring === 2);
  const near = Math.max(120, (first.length * 24) / (2 * Math.PI));
  const angles = new Map<string, number>();
  const on = (node: Node, angle: number, radius: number): Placed => {
    angles.set(node.id, angle);
    return { node, angle, x: STRETCH * radius * Math.cos(angle), y: radius * Math.sin(angle) };
  };
  const start = first.length === 1 ? -Math.PI : -Math.PI / 2; // the only one stands beside the middle
  const inner = first.map((node, index) => on(node, start + (2 * Math.PI * (index + 0.5)) / first.length, near));
  const groups = Map.groupBy(second, (node) => node.from ?? "");
  const slice = (2 * Math.PI) / Math.max(1, groups.size);
  const outer = [...groups].flatMap(([from, children]) => {
    const width = Math.min(slice, Math.PI) * 0.9;
    const start = (angles.get(from) ?? 0) - width / 2;
    return children.map((node, index) => on(node, start + (width * (index + 0.5)) / children.length, near + 110));
  });
  return [{ node: middle!, angle: 0, x: 0, y: 0 }, ...inner, ...outer];
}

/** Moves the focus along the drawing with the arrow keys. */
function walk(event: KeyboardEvent): void {
  const step = ["ArrowRight", "ArrowDown"].includes(event.key) ? 1 : ["ArrowLeft", "ArrowUp"].includes(event.key) ? -1 : 0;
  if (!step) return;
  event.preventDefault();
  const spots = [...(event.currentTarget as SVGElement).querySelectorAll<SVGAElement>("[data-spot]")];
  const now = spots.indexOf(document.activeElement as unknown as SVGAElement);
  spots[(now + step + spots.length) % spots.length]?.focus();
}

function linkOf(node: Node): string {
  if (node.to === "entity") return href("entities", node.id, { as_of: param("as_of") });
  if (node.to === "way") return href("strategies", null, { open: node.id });
  return node.ring === 0 ? href("memory", node.id) : href("graph", node.id);
}
