interface AcceptedValue {
  /** In lower case, without its parameters. */
  readonly name: string;
  /** Whether its weight is above 0, as it is without one. */
  readonly isWanted: boolean;
}

/** The values that a header such as `Accept` lists, in its order (RFC 9110, 12.4.2). */
export function acceptedValues(header: string): AcceptedValue[] {
  return header.split(',').map((value) => {
    const [name = '', ...parameters] = value.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { name, isWanted: weight === undefined || Number(weight) > 0 };
  });
}
