import type { Scenario } from "./scenario.ts";

const WIDTHS = [100, 200, 400];
const INDEX_ABOVE = 5000;

const widths = WIDTHS.map((efSearch) => ({ ask: "vector", efSearch, metric: `ef${efSearch}` }) as const);

/**
 * Returns two scenarios: many tenants with a few hundred chunks each, and few tenants with many chunks each.
 *
 * With many tenants no plan uses the shared index. It exists so that the planner has the choice, and is built with the
 * lowest `ef_construction` that its `m` allows, which does not affect plans.
 */
export function serverScenarios(quick: boolean, rounds = quick ? 2 : 3): readonly Scenario[] {
  const share = quick ? 0.1 : 1;
  return [
    {
      name: "tenants-1000",
      size: { tenants: 1000 * share, perTenant: 300 },
      queries: quick ? 60 : 300,
      rounds,
      asks: [
        { ask: "vector", efSearch: 100, metric: "vector" },
        { ask: "hybrid", efSearch: 100, metric: "hybrid" },
        { ask: "filtered", efSearch: 100, metric: "filtered" },
        { ask: "filtered-rare", efSearch: 100, metric: "filtered-rare" },
      ],
      efConstruction: 32,
      indexAbove: INDEX_ABOVE,
    },
    {
      name: "tenants-4",
      size: { tenants: 4, perTenant: 25_000 * share },
      queries: quick ? 60 : 200,
      rounds,
      asks: [
        ...widths,
        { ask: "hybrid", efSearch: 100, metric: "large/hybrid" },
        { ask: "filtered", efSearch: 100, metric: "large/filtered" },
        { ask: "filtered-rare", efSearch: 100, metric: "large/filtered-rare" },
      ],
      efConstruction: 64,
      indexAbove: INDEX_ABOVE * share,
    },
  ];
}

/**
 * Returns the scenario for PostgreSQL in this process. At this size exact plans are faster, so the planner must not use
 * them.
 */
export function embeddedScenario(quick: boolean, rounds = quick ? 2 : 3): Scenario {
  return {
    name: "embedded",
    size: { tenants: 4, perTenant: quick ? 250 : 2500 },
    queries: quick ? 20 : 160,
    rounds,
    asks: widths,
    efConstruction: 64,
    indexAbove: quick ? 100 : 1000,
    force: true,
  };
}
