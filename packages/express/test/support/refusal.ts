import { ConfigurationError, type Fault } from "@svc/options";
import { expect } from "chai";
import { makeService, type TestServiceOptions } from "./test-service.ts";

/** Returns the faults for which a service with these options does not start. */
export async function faultsOf(options: TestServiceOptions): Promise<readonly Fault[]> {
  try {
    const { service } = await makeService(options);
    await service.stop();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
  return expect.fail("it started");
}
