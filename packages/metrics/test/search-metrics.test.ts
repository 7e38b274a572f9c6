import { metrics, searchMetrics } from "@svc/metrics";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";

describe("searchMetrics()", () => {
  it("counts searches by kind, their hits and ingested chunks, and shows the last recall once it is measured", async () => {
    const { registry } = metrics({ service: "x", defaultMetrics: false });
    const count = searchMetrics({ registry });
    const text = (): Promise<string> => registry.metrics();
    expect(await text()).not.to.match(/^svc_search_recall /m);
    count({ type: "searched", kind: "hybrid", hits: 3, durationMs: 20 });
    count({ type: "searched", kind: "vector", hits: 0, durationMs: 2000 });
    count({ type: "ingested", embedded: 4, reused: 0 });
    count({ type: "ingested", embedded: 1, reused: 2 });
    count({ type: "measured", recall: 0.5 });
    count({ type: "measured", recall: 0.75 });
    const lines = (await text()).split("\n");
    expect(lines).to.include.members([
      'svc_search_seconds_bucket{le="0.025",kind="hybrid"} 1',
      'svc_search_seconds_sum{kind="vector"} 2',
      'svc_search_hits_bucket{le="0"} 1',
      "svc_search_hits_sum 3",
      'svc_ingest_chunks_total{source="embedded"} 5',
      'svc_ingest_chunks_total{source="reused"} 2',
      "svc_search_recall 0.75",
    ]);
  });

  it("rejects a registry that already has these metrics", () => {
    const { registry } = metrics({ service: "x", defaultMetrics: false });
    searchMetrics({ registry });
    expect(() => searchMetrics({ registry })).to.throw(
      ConfigurationError,
      "registry: already has svc_search_seconds, svc_search_hits, svc_ingest_chunks_total, svc_search_recall",
    );
  });
});
