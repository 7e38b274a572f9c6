export { accessLog } from "./access-log.ts";
export { createDestination, type Destination } from "./destination.ts";
export { createLogger } from "./logger.ts";
export { currentLogFields, winstonDestination, type WinstonLogger } from "./other-loggers.ts";
export type {
  AccessLevel,
  AccessLogOptions,
  DestinationOptions,
  LineDestination,
  LoggerOptions,
} from "./options.ts";
