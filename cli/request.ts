import { errorOf } from '../clients/typescript/src/errors.ts';

/** The data of an answer of a route that the client has no method for. @throws ReelwrightError for a refusal */
export async function dataOf<Data>(sent: Promise<{ data?: Data; error?: unknown; response: Response }>): Promise<Data> {
  const { data, error, response } = await sent;
  if (response.ok && data !== undefined) return data;
  const text = typeof error === 'string' ? error : JSON.stringify(error ?? null);
  throw await errorOf(new Response(text, { status: response.status, headers: response.headers }));
}
