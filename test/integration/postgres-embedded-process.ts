// Starts the embedded PostgreSQL of a checkout and prints its address:
//   node postgres-embedded-process.ts CHECKOUT DIR OUTSIDE_DIR hold|forget
// `hold`: until standard input ends, then stops it. `forget`: ends without stopping it.
const [checkout, dir, outsideDir, mode] = process.argv.slice(2) as [string, string, string, string];
const { startEmbeddedPostgres } = (await import(
  `${checkout}/platform/embedded-postgres/embedded.ts`
)) as typeof import('#platform/embedded-postgres/embedded.ts');
const server = await startEmbeddedPostgres({ dir, outsideDir });
process.stdout.write(`${server.url}\n`);
if (mode === 'hold') {
  for await (const _ of process.stdin);
  await server.stop();
}
