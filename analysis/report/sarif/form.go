package sarif

// The objects of SARIF 2.1.0 that reports use, with the members that are set: https://docs.oasis-open.org/sarif/sarif/v2.1.0.

type log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []sRun `json:"runs"`
}

type sRun struct {
	Tool        tool                `json:"tool"`
	Invocations []invocation        `json:"invocations"`
	BaseIDs     map[string]artifact `json:"originalUriBaseIds,omitempty"`
	Results     []result            `json:"results"`
	Properties  map[string]any      `json:"properties,omitempty"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name           string `json:"name"`
	Version        string `json:"version,omitempty"`
	InformationURI string `json:"informationUri"`
	Rules          []rule `json:"rules"`
}

type rule struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Short         message        `json:"shortDescription"`
	Full          message        `json:"fullDescription"`
	Help          message        `json:"help"`
	HelpURI       string         `json:"helpUri"`
	Configuration configuration  `json:"defaultConfiguration"`
	Properties    map[string]any `json:"properties"`
}

type configuration struct {
	Level string `json:"level"`
}

type message struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type invocation struct {
	Successful    bool           `json:"executionSuccessful"`
	Notifications []notification `json:"toolExecutionNotifications,omitempty"`
}

type notification struct {
	Level   string  `json:"level"`
	Message message `json:"message"`
}

type result struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Rank         float64           `json:"rank"`
	Baseline     string            `json:"baselineState,omitempty"`
	Message      message           `json:"message"`
	Locations    []location        `json:"locations"`
	Related      []location        `json:"relatedLocations,omitempty"`
	CodeFlows    []codeFlow        `json:"codeFlows,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Properties   map[string]any    `json:"properties,omitempty"`
}

type location struct {
	ID       int       `json:"id,omitempty"`
	Physical *physical `json:"physicalLocation,omitempty"`
	Logical  []logical `json:"logicalLocations,omitempty"`
	Message  *message  `json:"message,omitempty"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
}

type artifact struct {
	URI    string `json:"uri"`
	BaseID string `json:"uriBaseId,omitempty"`
}

type region struct {
	StartLine int `json:"startLine"`
}

type logical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

type codeFlow struct {
	Message message      `json:"message"`
	Threads []threadFlow `json:"threadFlows"`
}

type threadFlow struct {
	ID        string         `json:"id,omitempty"`
	Message   *message       `json:"message,omitempty"`
	Locations []flowLocation `json:"locations"`
}

type flowLocation struct {
	Location   location `json:"location"`
	Kinds      []string `json:"kinds,omitempty"`
	Order      int      `json:"executionOrder,omitempty"`
	Importance string   `json:"importance,omitempty"`
}
