import { announce } from "../harness/within-service.ts";

/** A service that exits as soon as it has announced its port. */
announce(1);
process.exit(0);
