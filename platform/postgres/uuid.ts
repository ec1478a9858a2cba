const pattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text may be compared with a column of UUIDs: any other one makes the statement fail. */
export function isUuid(text: string): boolean {
  return pattern.test(text);
}
