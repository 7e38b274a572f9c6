import { highestBasePort, ports } from "@svc/config";
import { expect } from "chai";

describe("ports()", () => {
  it("PORT-1 PORT-3 gives each of ten consecutive ports its fixed use", () => {
    expect(ports(8000)).to.deep.equal({
      http: 8000,
      database: 8001,
      eventBus: 8002,
      keyValue: 8003,
      document: 8004,
      metrics: 8005,
      dashboard: 8006,
      vectorHttp: 8007,
      vectorGrpc: 8008,
      grpc: 8009,
    });
  });

  it("PORT-1 accepts the highest base that leaves ten ports", () => {
    expect(ports(highestBasePort).grpc).to.equal(65_535);
  });

  for (const base of [0, -1, 65_527, 80.5, NaN]) {
    it(`PORT-1 rejects the base ${base}`, () => {
      expect(() => ports(base)).to.throw(
        `must be a whole number from 1 to 65526, because it is the first of ten ports; it is ${base}`,
      );
    });
  }
});
