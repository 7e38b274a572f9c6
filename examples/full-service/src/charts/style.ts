import { type Html, markup } from "@svc/html";

/**
 * Colours of the charts; those of the page are in `src/pages/layout.ts`. Each has a contrast above 3:1 with the
 * background.
 */
export const chartStyle: Html = markup`
  :root {
    --series-0: #0b4f9e; --series-1: #b4530a; --series-2: #237a57; --series-3: #7b4aa8; --series-4: #6b6b6b;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --series-0: #6aa5ee; --series-1: #ee9a52; --series-2: #5fc393; --series-3: #c49bec; --series-4: #adadad;
    }
  }
  h2 { margin-top: 2.5rem; }
  .chart { display: block; width: 100%; min-width: 36rem; height: auto; }
  .chart text { font-size: 12px; fill: var(--text); }
  .chart .tick { text-anchor: end; font-variant-numeric: tabular-nums; }
  .chart .label { text-anchor: middle; }
  .chart .year { font-weight: 600; }
  .grid { stroke: var(--line); }
  .axis { stroke: var(--text); }
  .chart rect { stroke: var(--ground); stroke-width: 1; }
  .series-0, .range { fill: var(--series-0); }
  .series-1, .middle { fill: var(--series-1); }
  .series-2 { fill: var(--series-2); }
  .series-3 { fill: var(--series-3); }
  .series-4 { fill: var(--series-4); }
  .legend { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; margin: .5rem 0; }
  .swatch { width: .8em; height: .8em; margin-right: .4em; vertical-align: -.05em; }
  .scroll { overflow-x: auto; }
  details { margin: .5rem 0 1.5rem; }
  summary { cursor: pointer; }
  .numbers { font-variant-numeric: tabular-nums; margin-top: .5rem; }
  .numbers caption { text-align: left; font-weight: 600; }
  .numbers th + th, .numbers td { text-align: right; padding-left: .5rem; }
  .numbers th, .numbers td { white-space: nowrap; }`;
