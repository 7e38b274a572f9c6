import type { Service, ServiceOptions } from "@svc/express";
import type { Data } from "./data.ts";
import { importJob, type ImportJobOptions, importTask } from "./imports/job.ts";
import { pruneJob, pruneTask } from "./imports/prune.ts";

/** What the service does later, in the worker of this process or of another one. */
export function laterWork(
  dataOf: (service: Service) => Data,
  { stepRows }: Pick<ImportJobOptions, "stepRows"> = {},
): Pick<ServiceOptions, "jobs"> {
  return {
    jobs: {
      [importTask]: (payload, job, service) =>
        importJob({ ...dataOf(service), stepRows, announce: async () => undefined })(payload, job),
      [pruneTask]: (payload, job, service) => pruneJob(dataOf(service))(payload, job),
    },
  };
}
