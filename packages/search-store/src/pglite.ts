export {
  type EmbeddedConnection,
  type EmbeddedDatabase,
  type EmbeddedOptions,
  openEmbedded,
} from "./embedded/embedded.ts";
