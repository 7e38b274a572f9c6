import { bulkCases } from "./cases/bulk.ts";
import { embeddedCases } from "./cases/embedded.ts";
import { filterCases } from "./cases/filter.ts";
import { ingestCases } from "./cases/ingest.ts";
import { rowCases } from "./cases/rows.ts";
import { indexCases } from "./cases/indexes.ts";
import { searchCases } from "./cases/search.ts";
import { tableCases } from "./cases/table.ts";
import { tenantCases } from "./cases/tenants.ts";
import { useBackends } from "./support/backends.ts";

// All cases are in one file, because each file that starts an embedded database takes seconds.
describe("on every server with pgvector", function () {
  this.timeout(30_000);
  const backends = useBackends();
  describe("the embedded database", () => embeddedCases(backends));
  describe("the table of a store", () => tableCases(backends));
  describe("ingest()", () => ingestCases(backends));
  describe("ingestBulk()", () => bulkCases(backends));
  describe("a tenant's rows", () => rowCases(backends));
  describe("a filter", () => filterCases(backends));
  describe("a search", () => searchCases(backends));
  describe("the index of a tenant", () => indexCases(backends));
  describe("tenants", () => tenantCases(backends));
});
