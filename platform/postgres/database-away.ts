const nameCodes = ['ENOTFOUND', 'EAI_AGAIN'];
const systemCodes = [...nameCodes, 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'];
// SQLSTATE: a broken connection, too few resources, a server that stops or starts, a cancelled statement, a standby.
const sqlStates = /^(?:08|53)[0-9A-Z]{3}$|^57(?:P0[1-5]|014)$|^25006$/;
// What pg and pg-pool throw without a code.
const messages =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client )/;

/** Whether a query failed since the database does not answer now, so that the same query may succeed later. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? systemCodes.includes(code) || sqlStates.test(code) : messages.test(error.message);
}

/** Whether a query failed since its table is not there: the database is not migrated yet. */
export function isTableMissing(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === '42P01';
}
