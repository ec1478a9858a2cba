/**
 * `IMPORT_HOSTS`, the list of hosts that files may be fetched from. An entry is a host name or a literal address; `*.`
 * before a name means each name below it. It may have a port; without one it means port 443 of https and 80 of http.
 */
const entry = /^(?<below>\*\.)?(?<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:.]+\])(?::(?<port>\d{1,5}))?$/;

/** An entry in the form that `isListedHost` compares; null for other text. */
export function readHost(text: string): string | null {
  const lower = text.toLowerCase();
  const port = Number(entry.exec(lower)?.groups?.['port'] ?? '1');
  return entry.test(lower) && port >= 1 && port <= 65_535 ? lower : null;
}

/** Whether an entry of `hosts` allows a file to be fetched from `url`. */
export function isListedHost(url: URL, hosts: readonly string[]): boolean {
  const host = url.hostname.replace(/\.$/, '');
  const port = url.port === '' ? { 'https:': '443', 'http:': '80' }[url.protocol] : url.port;
  return hosts.some((text) => {
    const { below, host: name = '', port: only } = entry.exec(text)?.groups ?? {};
    if (only === undefined ? url.port !== '' : only !== port) return false;
    return below === undefined ? host === name : host.endsWith(`.${name}`);
  });
}
